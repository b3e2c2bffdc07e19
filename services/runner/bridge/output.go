//go:build linux || darwin

package bridge

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"strconv"

	"mcpgateway/services/rawjson"
	wiring "mcpgateway/services/runners/wire"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

// MaxBody is the maximum size of a request body in bytes.
const MaxBody = 16 << 20

// Codes of JSON-RPC 2.0, and that of an unknown session, for which no revision
// defines one.
const (
	codeParseError     = -32700
	codeInvalidRequest = -32600
	codeUnknownSession = -32001
)

// readMessage reads the message of a POST request. If ok is false, it has
// responded.
func readMessage(w http.ResponseWriter, r *http.Request) (m wire.Message, ok bool) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != wire.TypeJSON {
		fail(w, http.StatusUnsupportedMediaType, nil, codeInvalidRequest, "The content type must be application/json.")
		return m, false
	}
	body, err := wire.ReadBounded(r.Body, r.ContentLength, MaxBody, func() (int64, error) { return MaxBody, nil })
	switch {
	case errors.Is(err, wire.ErrTooLong):
		fail(w, http.StatusRequestEntityTooLarge, nil, codeInvalidRequest, "The message is larger than "+strconv.Itoa(MaxBody>>20)+" MiB.")
		return m, false
	case err != nil:
		fail(w, http.StatusBadRequest, nil, codeParseError, "The message is incomplete.")
		return m, false
	}
	if m, err = wire.ParseMessage(body); err != nil {
		code := int64(codeInvalidRequest)
		if rawjson.Valid(body, rawjson.Lenient) != nil {
			code = codeParseError
		}
		fail(w, http.StatusBadRequest, nil, code, "The body is not a JSON-RPC message: "+wire.Excerpt([]byte(err.Error())))
		return m, false
	}
	return m, true
}

// rpcError returns a raw JSON-RPC error object.
func rpcError(code int64, text string) []byte {
	b := strconv.AppendInt([]byte(`{"code":`), code, 10)
	return append(rawjson.AppendString(append(b, `,"message":`...), text), '}')
}

// fail responds with a JSON-RPC error. id is that of the request; nil means that
// it is not known.
func fail(w http.ResponseWriter, status int, id []byte, code int64, text string) {
	writeJSON(w, status, id, nil, rpcError(code, text))
}

// refuse responds that the program can't receive the request.
func refuse(w http.ResponseWriter, id []byte, text string) {
	w.Header().Set(wiring.HeaderFailure, wiring.FailureRefused)
	fail(w, http.StatusServiceUnavailable, id, upstream.CodeInternalError, text)
}

// writeJSON responds with a response.
func writeJSON(w http.ResponseWriter, status int, id, result, rpcError []byte) {
	if id == nil {
		id = []byte("null")
	}
	body := wire.AppendAnswer(nil, id, result, rpcError)
	w.Header().Set("Content-Type", wire.TypeJSON)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// output is the HTTP response to one request: JSON, or an event stream once it
// has an event.
type output struct {
	w         http.ResponseWriter
	id        []byte // raw, of the client
	stateless bool
	events    bool // the client accepts an event stream
	open      bool // the response is an event stream
}

// newOutput returns the response to a request with the ID.
func newOutput(w http.ResponseWriter, r *http.Request, id []byte, stateless bool) *output {
	return &output{w: w, id: id, stateless: stateless, events: accepts(r, wire.TypeEvents)}
}

// send sends messages as events. Without an event stream they are lost.
func (a *output) send(messages [][]byte) {
	if !a.events || len(messages) == 0 {
		return
	}
	a.start()
	for _, message := range messages {
		a.event("", message)
	}
	a.flush()
}

// start starts an event stream, unless the response is one.
func (a *output) start() {
	if a.open {
		return
	}
	a.open = true
	startEvents(a.w)
}

// startEvents starts an event stream.
func startEvents(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", wire.TypeEvents)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
}

// event writes an event. In JSON the ends of lines are white space.
func (a *output) event(name string, data []byte) {
	if name != "" {
		_, _ = a.w.Write([]byte("event: " + name + "\n"))
	}
	_, _ = a.w.Write([]byte("data: "))
	_, _ = a.w.Write(oneLine(data))
	_, _ = a.w.Write([]byte("\n\n"))
}

// oneLine returns JSON without ends of lines.
func oneLine(data []byte) []byte {
	if !bytes.ContainsAny(data, "\r\n") {
		return data
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(data, []byte{'\r'}, []byte{' '}), []byte{'\n'}, []byte{' '})
}

// flush sends what was written. Errors show as the end of the request's context.
func (a *output) flush() { _ = http.NewResponseController(a.w).Flush() }

// respond ends the response with the program's response.
func (a *output) respond(result, rpcError []byte) {
	if a.open {
		a.event("", wire.AppendAnswer(nil, a.id, result, rpcError))
		a.flush()
		return
	}
	status := http.StatusOK
	if a.stateless {
		status = statelessStatus(wire.ErrorCode(rpcError))
	}
	writeJSON(a.w, status, a.id, result, rpcError)
}

// statelessStatus returns the HTTP status for a JSON-RPC error, or 0 without one
// (MCP 2026-07-28, "Streamable HTTP").
func statelessStatus(code int64) int {
	switch {
	case code == upstream.CodeMethodNotFound:
		return http.StatusNotFound
	case upstream.IsModernCode(code):
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// ended ends the response because the program has ended, which also ends its
// sessions.
func (a *output) ended(text string) {
	failure := rpcError(upstream.CodeInternalError, text)
	if a.open {
		a.event(wiring.EventFailure, wire.AppendAnswer(nil, a.id, nil, failure))
		a.flush()
		return
	}
	a.w.Header().Set(wiring.HeaderFailure, wiring.FailureEnded)
	status := http.StatusNotFound
	if a.stateless {
		status = http.StatusBadGateway
	}
	writeJSON(a.w, status, a.id, nil, failure)
}
