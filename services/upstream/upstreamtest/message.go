package upstreamtest

import (
	"strconv"

	"mcpgateway/services/rawjson"
)

// JSON-RPC and MCP error codes.
const (
	codeParse              = -32700
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeSession            = -32001 // unknown session, as in the TypeScript SDK
	codeServer             = -32000
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
)

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServerInfo   = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// message is a decoded JSON-RPC message from a client.
type message struct {
	raw       []byte
	method    string // empty in a response
	id        []byte // nil in a notification
	params    *rawjson.Object
	meta      *rawjson.Object // params._meta
	rawParams []byte
}

func (m *message) isRequest() bool      { return m.method != "" && m.id != nil }
func (m *message) isNotification() bool { return m.method != "" && m.id == nil }

// decode parses a JSON-RPC message. The error is the one to respond with. The
// message's id is set if it could be parsed.
func decode(raw []byte) (message, *RPCError) {
	m := message{raw: raw}
	if rawjson.CheckDepth(raw, maxDepth) != nil {
		return m, &RPCError{Code: codeParse, Message: "Parse error: nested too deeply"}
	}
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil {
		return m, &RPCError{Code: codeParse, Message: "Parse error: " + err.Error()}
	}
	switch id := o.Get("id"); {
	case id == nil:
	case rawjson.Kind(id) == '"' || rawjson.IsNumber(id):
		m.id = id
	default:
		return m, &RPCError{Code: codeInvalidRequest, Message: "Invalid request: id must be a string or a number"}
	}
	if v, _ := o.String("jsonrpc"); v != "2.0" {
		return m, &RPCError{Code: codeInvalidRequest, Message: `Invalid request: jsonrpc must be "2.0"`}
	}
	if o.Get("method") == nil {
		if m.id == nil || (o.Get("result") == nil) == (o.Get("error") == nil) {
			return m, &RPCError{Code: codeInvalidRequest, Message: "Invalid request: neither a method nor a response"}
		}
		return m, nil
	}
	if m.method, _ = o.String("method"); m.method == "" {
		return m, &RPCError{Code: codeInvalidRequest, Message: "Invalid request: method must be a string"}
	}
	if m.rawParams = o.Get("params"); m.rawParams != nil {
		if m.params = o.Object("params"); m.params == nil {
			return m, &RPCError{Code: codeInvalidParams, Message: "Invalid params: params must be an object"}
		}
		m.meta = m.params.Object("_meta")
	}
	return m, nil
}

func appendResult(dst, id, result []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, orNull(id)...)
	dst = append(dst, `,"result":`...)
	dst = append(dst, result...)
	return append(dst, '}')
}

func appendError(dst, id []byte, e *RPCError) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, orNull(id)...)
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = rawjson.AppendString(dst, e.Message)
	if e.Data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	return append(dst, '}', '}')
}

func notification(method string, params []byte) []byte {
	m := rawjson.AppendString([]byte(`{"jsonrpc":"2.0","method":`), method)
	if params != nil {
		m = append(m, `,"params":`...)
		m = append(m, params...)
	}
	return append(m, '}')
}

// withMeta returns the raw object with _meta[key] set to value. It returns
// invalid objects unchanged.
func withMeta(raw []byte, key string, value []byte) []byte {
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return raw
	}
	setMeta(o, key, value)
	return o.Bytes()
}

func setMeta(o *rawjson.Object, key string, value []byte) {
	meta := o.Object("_meta")
	if meta == nil {
		o.Set("_meta", metaOf(key, value))
		return
	}
	meta.Set(key, value)
	o.Set("_meta", meta.Bytes())
}

// metaOf returns a raw object with one member.
func metaOf(key string, value []byte) []byte {
	m := append(rawjson.AppendString([]byte{'{'}, key), ':')
	return append(append(m, value...), '}')
}

func orNull(id []byte) []byte {
	if id == nil {
		return []byte("null")
	}
	return id
}

func appendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(dst, s)
	}
	return append(dst, ']')
}
