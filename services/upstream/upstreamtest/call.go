package upstreamtest

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"mcpgateway/services/rawjson"
)

// Handler handles a request. Its context ends when the client cancels: by
// notifications/cancelled in the session eras, by closing the stream in the
// stateless one.
type Handler func(ctx context.Context, c *Call) Result

// Tool is a tool. Definition is sent in tools/list unchanged; calls are matched
// by its name. A nil Call returns an empty result.
type Tool struct {
	Definition string
	Call       Handler
	// Task is the work of the tool as a task, which Call then need not be. A
	// definition with execution.taskSupport required has no other way.
	Task Work
}

// Call is a request for a handler. Its slices must not be modified.
type Call struct {
	Era       Era
	Session   string // session id; empty in the stateless era
	ID        []byte // raw JSON
	Method    string
	Params    []byte // raw JSON; nil when absent
	Name      string // params.name
	Arguments []byte // params.arguments, raw JSON; nil when absent
	Header    http.Header

	params  *rawjson.Object
	token   []byte // progress token, raw
	reply   reply
	session *session
	server  *Server
}

// ErrNoProgressToken is returned by Progress if the client didn't request
// progress notifications.
var ErrNoProgressToken = errors.New("request has no progress token")

// Progress sends notifications/progress for this call. A negative total and an
// empty message are omitted. It returns ErrNoProgressToken if the client sent
// no token.
func (c *Call) Progress(progress, total float64, message string) error {
	if c.token == nil {
		return ErrNoProgressToken
	}
	p := append([]byte(`{"progressToken":`), c.token...)
	p = append(p, `,"progress":`...)
	p = strconv.AppendFloat(p, progress, 'f', -1, 64)
	if total >= 0 {
		p = append(p, `,"total":`...)
		p = strconv.AppendFloat(p, total, 'f', -1, 64)
	}
	if message != "" {
		p = append(p, `,"message":`...)
		p = rawjson.AppendString(p, message)
	}
	return c.Notify("notifications/progress", append(p, '}'))
}

// Notify sends a notification on the stream of this call; params is raw JSON
// and may be nil. With AnswerJSON it is dropped.
func (c *Call) Notify(method string, params []byte) error {
	return c.reply.notify(notification(method, params))
}

// ErrNoStream is returned by Ask if the client has no open GET stream.
var ErrNoStream = errors.New("session has no open stream")

// Request sends a request to the client on the stream of this call, or with
// Options.AskOnStream on that of the session, and returns the client's raw
// JSON-RPC response. It fails in the stateless era, without a session, with
// AnswerJSON on the call's stream, and with ErrNoStream.
func (c *Call) Request(ctx context.Context, method string, params []byte) ([]byte, error) {
	if c.session == nil || c.Era.Stateless() {
		return nil, errors.New("requests to the client require a session: return an input_required result instead")
	}
	send := c.reply.notify
	if c.server.opts.AskOnStream {
		send = c.session.notify
	} else if !c.reply.canAsk() {
		return nil, errors.New("a JSON response cannot contain a request: use AnswerAuto or AnswerSSE")
	}
	id, answer := c.session.expect()
	defer c.session.forget(id)
	m := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	m = append(m, `,"method":`...)
	m = rawjson.AppendString(m, method)
	if params != nil {
		m = append(m, `,"params":`...)
		m = append(m, params...)
	}
	if err := send(append(m, '}')); err != nil {
		return nil, err
	}
	select {
	case raw := <-answer:
		return raw, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Result is the result of a handler: a raw JSON result, or a JSON-RPC error.
type Result struct {
	JSON []byte
	Err  *RPCError
}

// RPCError is a JSON-RPC error object. Data is raw JSON and may be nil.
type RPCError struct {
	Code    int
	Message string
	Data    []byte
}

// Error returns the message.
func (e *RPCError) Error() string { return e.Message }

// JSON returns a result that is sent unchanged.
func JSON(raw string) Result { return Result{JSON: []byte(raw)} }

// Text returns a result with one text block.
func Text(s string) Result {
	return Result{JSON: append(rawjson.AppendString([]byte(`{"content":[{"type":"text","text":`), s), `}]}`...)}
}

// Failure returns a result with one text block and isError set.
func Failure(s string) Result {
	return Result{JSON: append(rawjson.AppendString([]byte(`{"content":[{"type":"text","text":`), s), `}],"isError":true}`...)}
}

// Structured returns a result with the JSON document raw as structuredContent
// and as its text block.
func Structured(raw []byte) Result {
	out := rawjson.AppendString([]byte(`{"content":[{"type":"text","text":`), string(raw))
	out = append(out, `}],"structuredContent":`...)
	out = append(out, raw...)
	return Result{JSON: append(out, '}')}
}

// Error returns a JSON-RPC error.
func Error(code int, message string) Result {
	return Result{Err: &RPCError{Code: code, Message: message}}
}
