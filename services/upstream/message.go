package upstream

import (
	"bytes"
	"errors"
	"strconv"

	"mcpgateway/services/rawjson"
)

// message is one JSON-RPC 2.0 message, its parts raw.
type message struct {
	id       []byte // nil when absent
	method   string // empty for an answer
	params   []byte
	result   []byte
	rpcError []byte
}

// parseMessage splits a JSON-RPC message. The parts are ranges of raw.
func parseMessage(raw []byte) (message, error) {
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return message{}, err
	}
	if !rawjson.Says(o.Get("jsonrpc"), "2.0") {
		return message{}, errors.New(`"jsonrpc" is not "2.0"`)
	}
	m := message{id: o.Get("id"), params: o.Get("params"), result: o.Get("result"), rpcError: o.Get("error")}
	if raw := o.Get("method"); raw != nil {
		method, ok := rawjson.String(raw)
		if !ok || method == "" {
			return message{}, errors.New(`"method" is not a string`)
		}
		m.method = method
		return m, nil
	}
	if rawjson.Kind(m.rpcError) == 'n' { // an explicit null beside a result
		m.rpcError = nil
	}
	switch {
	case m.result == nil && m.rpcError == nil:
		return message{}, errors.New("there is neither a method nor a result nor an error")
	case m.result != nil && m.rpcError != nil:
		return message{}, errors.New("there are both a result and an error")
	case m.result != nil && rawjson.Kind(m.result) != '{':
		return message{}, errors.New("the result is not an object")
	case m.rpcError != nil && rawjson.Kind(m.rpcError) != '{':
		return message{}, errors.New("the error is not an object")
	}
	return m, nil
}

// isRequest reports whether the sender waits for an answer.
func (m *message) isRequest() bool {
	return m.method != "" && m.id != nil && rawjson.Kind(m.id) != 'n'
}

// answers reports whether m is the answer to the request with our id.
func (m *message) answers(id int64) bool {
	var digits [20]byte
	return m.method == "" && bytes.Equal(m.id, strconv.AppendInt(digits[:0], id, 10))
}

// errorCode returns the number of a raw JSON-RPC error object, or 0.
func errorCode(rpcError []byte) int64 {
	if rpcError == nil {
		return 0
	}
	o, err := rawjson.ParseObject(rpcError, rawjson.Lenient)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(o.Get("code"))), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// errorText returns the number and message of a raw JSON-RPC error object,
// fit for one of our own messages.
func errorText(rpcError []byte) string {
	o, err := rawjson.ParseObject(rpcError, rawjson.Lenient)
	if err != nil {
		return Excerpt(rpcError)
	}
	text, _ := o.String("message")
	return Excerpt([]byte(text)) + " (" + strconv.FormatInt(errorCode(rpcError), 10) + ")"
}

// appendRequest appends a JSON-RPC request. Without params it has none.
func appendRequest(dst []byte, id int64, method string, params []byte) []byte {
	dst = appendHead(dst, id, method)
	if params != nil {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// appendHead appends a JSON-RPC request up to its params.
func appendHead(dst []byte, id int64, method string) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = strconv.AppendInt(dst, id, 10)
	dst = append(dst, `,"method":`...)
	return rawjson.AppendString(dst, method)
}

// appendNotification appends a JSON-RPC notification; params may be nil.
func appendNotification(dst []byte, method string, params []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	dst = rawjson.AppendString(dst, method)
	if params != nil {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// appendAnswer appends the answer to a request of the upstream, whose raw id
// goes back as it came.
func appendAnswer(dst, id, result, rpcError []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	if rpcError != nil {
		dst = append(dst, `,"error":`...)
		dst = append(dst, rpcError...)
	} else {
		dst = append(dst, `,"result":`...)
		dst = append(dst, result...)
	}
	return append(dst, '}')
}
