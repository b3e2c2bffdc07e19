// Package wire parses and writes the bytes of MCP: JSON-RPC messages, event
// streams, size-limited bodies, headers, and the metadata of each revision.
// Params, results and errors are forwarded as raw bytes.
package wire

import (
	"bytes"
	"errors"
	"strconv"

	"mcpgateway/services/rawjson"
)

// Message is one JSON-RPC 2.0 message with raw parts.
type Message struct {
	ID       []byte // nil when absent
	Method   string // empty for a response
	Params   []byte
	Result   []byte
	RPCError []byte
}

// ParseMessage parses a JSON-RPC message. The parts are slices of raw.
func ParseMessage(raw []byte) (Message, error) {
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return Message{}, err
	}
	if !rawjson.EqualString(o.Get("jsonrpc"), "2.0") {
		return Message{}, errors.New(`"jsonrpc" is not "2.0"`)
	}
	m := Message{ID: o.Get("id"), Params: o.Get("params"), Result: o.Get("result"), RPCError: o.Get("error")}
	if raw := o.Get("method"); raw != nil {
		method, ok := rawjson.String(raw)
		if !ok || method == "" {
			return Message{}, errors.New(`"method" is not a string`)
		}
		m.Method = method
		return m, nil
	}
	if rawjson.Kind(m.RPCError) == 'n' { // an explicit null next to a result
		m.RPCError = nil
	}
	switch {
	case m.Result == nil && m.RPCError == nil:
		return Message{}, errors.New("message has neither a method nor a result nor an error")
	case m.Result != nil && m.RPCError != nil:
		return Message{}, errors.New("message has both a result and an error")
	case m.Result != nil && rawjson.Kind(m.Result) != '{':
		return Message{}, errors.New(`"result" is not an object`)
	case m.RPCError != nil && rawjson.Kind(m.RPCError) != '{':
		return Message{}, errors.New(`"error" is not an object`)
	}
	return m, nil
}

// IsRequest reports whether m expects a response.
func (m *Message) IsRequest() bool {
	return m.Method != "" && m.ID != nil && rawjson.Kind(m.ID) != 'n'
}

// IsResponseTo reports whether m is the response to our request with the ID.
func (m *Message) IsResponseTo(id int64) bool {
	var digits [20]byte
	return m.Method == "" && bytes.Equal(m.ID, strconv.AppendInt(digits[:0], id, 10))
}

// ErrorCode returns the code of a raw JSON-RPC error object, or 0.
func ErrorCode(rpcError []byte) int64 {
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

// ErrorText returns the message and code of a raw JSON-RPC error object,
// shortened for use in a message of the gateway.
func ErrorText(rpcError []byte) string {
	o, err := rawjson.ParseObject(rpcError, rawjson.Lenient)
	if err != nil {
		return Excerpt(rpcError)
	}
	text, _ := o.String("message")
	return Excerpt([]byte(text)) + " (" + strconv.FormatInt(ErrorCode(rpcError), 10) + ")"
}

// AppendRequest appends a JSON-RPC request. params may be nil.
func AppendRequest(dst []byte, id int64, method string, params []byte) []byte {
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

// AppendNotification appends a JSON-RPC notification; params may be nil.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	dst = rawjson.AppendString(dst, method)
	if params != nil {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// AppendAnswer appends the response to a request of the upstream. The raw ID is
// copied unchanged.
func AppendAnswer(dst, id, result, rpcError []byte) []byte {
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
