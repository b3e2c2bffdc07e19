package mcp

import (
	"encoding/json"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/web"
)

// maxBatch is the maximum number of messages in a batch (contract, "Limits").
const maxBatch = 50

// methodCall is the most frequent method.
const methodCall = "tools/call"

// messageEvent is the name of SSE events with a JSON-RPC message.
const messageEvent = "message"

// message is a JSON-RPC message of a client. Its members are raw JSON, except
// method.
type message struct {
	id     []byte // nil for notifications
	method string // "" for responses
	params []byte // nil when absent

	result, rpcError []byte // of responses; one is nil

	err *errorResponse

	alone [1]*message // backs the slice of a single message, to save an allocation
}

func (m *message) isRequest() bool { return m.method != "" && m.id != nil }

func (m *message) isResponse() bool { return m.result != nil || m.rpcError != nil }

// parseBody parses the body of a POST: one message, or a batch of at most
// maxBatch. Invalid messages of a batch have err set.
func parseBody(body []byte) (messages []*message, batch bool, problem *errorResponse) {
	if err := rawjson.CheckDepth(body, web.MaxDepth); err != nil {
		return nil, false, parseError("The JSON is nested deeper than 64 levels.")
	}
	switch rawjson.Kind(body) {
	case '{':
		m, problem := parseMessage(body)
		if problem != nil {
			return nil, false, problem
		}
		m.alone[0] = m
		return m.alone[:], false, nil
	case '[':
		items, err := rawjson.Elements(body, rawjson.Strict)
		if err != nil {
			return nil, false, brokenJSON(err)
		}
		if len(items) == 0 || len(items) > maxBatch {
			return nil, false, invalidRequest(nil, "A batch must have 1 to 50 messages.")
		}
		for _, item := range items {
			m, problem := parseMessage(item)
			if problem != nil {
				m = &message{err: problem}
			}
			messages = append(messages, m)
		}
		return messages, true, nil
	}
	if err := rawjson.Valid(body, rawjson.Strict); err != nil {
		return nil, false, brokenJSON(err)
	}
	return nil, false, invalidRequest(nil, "The body must be a JSON-RPC request object.")
}

// parseMessage parses and validates one message (JSON-RPC 2.0, section 4). MCP
// forbids null ids.
func parseMessage(raw []byte) (*message, *errorResponse) {
	if rawjson.Kind(raw) != '{' {
		return nil, invalidRequest(nil, "A message must be a JSON object.")
	}
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil {
		return nil, brokenJSON(err)
	}
	m := &message{id: o.Get("id"), params: o.Get("params")}
	if rawjson.Kind(m.params) == 'n' { // some clients send null for no params
		m.params = nil
	}
	if kind := rawjson.Kind(m.id); m.id != nil && kind != '"' && !rawjson.IsNumber(m.id) {
		m.id = nil
		return nil, invalidRequest(nil, "id must be a string or a number.")
	}
	if !rawjson.EqualString(o.Get("jsonrpc"), "2.0") {
		return nil, invalidRequest(m.id, `jsonrpc must be "2.0".`)
	}
	raw = o.Get("method")
	if result, rpcError := o.Get("result"), o.Get("error"); raw == nil && m.id != nil && (result != nil) != (rpcError != nil) {
		return &message{id: m.id, result: result, rpcError: rpcError}, nil
	}
	if rawjson.EqualString(raw, methodCall) { // the usual case, without an allocation
		m.method = methodCall
		return m, nil
	}
	method, ok := rawjson.String(raw)
	if !ok || method == "" {
		return nil, invalidRequest(m.id, "method must be a non-empty string.")
	}
	m.method = method
	return m, nil
}

// appendResult appends the response to a request, with the raw id.
func appendResult(dst, id, result []byte) []byte {
	if dst == nil {
		dst = make([]byte, 0, len(result)+len(id)+64)
	}
	return append(append(appendResultHead(dst, id), result...), '}')
}

// appendResultHead appends the response to a request up to its result.
func appendResultHead(dst, id []byte) []byte {
	return append(append(append(dst, `{"jsonrpc":"2.0","id":`...), id...), `,"result":`...)
}

// appendNotification appends a notification. params is raw, or nil.
func appendNotification(dst []byte, method string, params []byte) []byte {
	return appendParams(append(dst, `{"jsonrpc":"2.0"`...), method, params)
}

// appendRequest appends a request to the client. params is raw, or nil.
func appendRequest(dst, id []byte, method string, params []byte) []byte {
	return appendParams(append(append(dst, `{"jsonrpc":"2.0","id":`...), id...), method, params)
}

func appendParams(dst []byte, method string, params []byte) []byte {
	dst = rawjson.AppendString(append(dst, `,"method":`...), method)
	if params != nil {
		dst = append(append(dst, `,"params":`...), params...)
	}
	return append(dst, '}')
}

// errorResponse is a JSON-RPC error response.
type errorResponse struct {
	status  int // HTTP status
	id      []byte
	raw     []byte // the error object of an upstream server; replaces the fields below
	number  int
	message string
	data    errorData
}

// errorData is the data member of errors of the gateway (contract, "Errors").
type errorData struct {
	Code       fault.Code  `json:"code"`
	Restart    bool        `json:"restart"`
	Span       *fault.Span `json:"span,omitempty"`
	Path       string      `json:"path,omitempty"` // JSON pointer of an invalid argument
	RequestID  string      `json:"requestId,omitempty"`
	Supported  []string    `json:"supported,omitempty"` // of MCP 2026-07-28's -32022
	Requested  string      `json:"requested,omitempty"`
	RetryAfter int         `json:"retryAfter,omitempty"` // seconds to wait; 0 if unknown
	URI        string      `json:"uri,omitempty"`        // the resource that was not found
	URL        string      `json:"url,omitempty"`        // where the user connects their account
	Help       string      `json:"help,omitempty"`       // URL of the documentation of the code
	Fields     *dataFields `json:"fields,omitempty"`
}

// dataFields is the member fields of errorData.
type dataFields struct {
	Candidates []string `json:"candidates,omitempty"` // full names of the tools that an ambiguous name can stand for
}

func (a *errorResponse) append(dst []byte, x web.ErrorContext) []byte {
	id := a.id
	if id == nil {
		id = []byte("null")
	}
	dst = append(append(append(dst, `{"jsonrpc":"2.0","id":`...), id...), `,"error":`...)
	return append(a.appendError(dst, x), '}')
}

// appendError appends only the error object.
func (a *errorResponse) appendError(dst []byte, x web.ErrorContext) []byte {
	if a.raw != nil {
		return append(dst, a.raw...)
	}
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(a.number), 10)
	dst = append(dst, `,"message":`...)
	dst = rawjson.AppendString(dst, a.message)
	a.data.RequestID, a.data.Help = x.RequestID, x.Help(a.data.Code)
	if data, err := json.Marshal(a.data); err == nil {
		dst = append(append(dst, `,"data":`...), data...)
	}
	return append(dst, '}')
}

func (a *errorResponse) answer(c *fiber.Ctx) error { return a.sendThen(c, func() {}) }

// sendThen sends the response. It calls sent after the response was sent or
// failed to be sent.
func (a *errorResponse) sendThen(c *fiber.Ctx, sent func()) error {
	event := web.EventOf(c)
	if a.raw == nil {
		event.Refused(a.data.Code)
	}
	c.Status(a.status)
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	text := a.append(nil, event.Errors())
	if len(text) >= sentInParts {
		return web.SendPartsThen(c, sent, text)
	}
	sent()
	return c.Send(text)
}

// refuse returns the error response to an invalid request.
func refuse(status int, id []byte, number int, text string) *errorResponse {
	return &errorResponse{status: status, id: id, number: number, message: text, data: errorData{Code: fault.CodeInvalidParameter}}
}

func parseError(text string) *errorResponse {
	return refuse(fiber.StatusBadRequest, nil, codeParseError, text)
}

func brokenJSON(err error) *errorResponse {
	return parseError("The body is not valid JSON: " + err.Error() + ".")
}

func invalidRequest(id []byte, text string) *errorResponse {
	return refuse(fiber.StatusBadRequest, id, codeInvalidRequest, text)
}
