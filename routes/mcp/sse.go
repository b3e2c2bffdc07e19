package mcp

import (
	"context"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mcpgateway/routes/mcp/bridge"
	"mcpgateway/routes/mcp/cors"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
	"mcpgateway/web/conn"
	"mcpgateway/web/sse"
)

// Query parameters of the endpoint.
const (
	queryRequest   = "request"   // a JSON-RPC request
	queryName      = "name"      // of a tool
	queryArguments = "arguments" // of the tool, a JSON object
	querySession   = "sessionId"
)

// streamDone is the last message of the bridge (specification, "Events").
const streamDone = "[DONE]"

// SSE serves /v1/mcp/:projectSlug/sse: the SSE bridge for tool calls
// (specification, "SSE bridge"), and the HTTP+SSE transport of MCP 2024-11-05,
// which starts with a GET without a call.
func (e *Endpoint) SSE(c *fiber.Ctx) error {
	at, err := e.locate(c)
	if err != nil {
		return err
	}
	if c.Method() == fiber.MethodOptions {
		return cors.Preflight(c, sseMethods)
	}
	in, err := e.admit(c, at)
	if err != nil {
		return err
	}
	query := c.Context().QueryArgs()
	switch c.Method() {
	case fiber.MethodPost:
		if query.Has(querySession) {
			return e.postToStream(c, in)
		}
		body, err := web.JSONBody(c)
		if err != nil {
			return err
		}
		return e.bridge(c, in, body)
	case fiber.MethodGet:
		if query.Has(queryRequest) || query.Has(queryName) {
			if err := cors.RejectCrossSite(c); err != nil {
				return err
			}
			body, problem := bridgeQuery(query)
			if problem != nil {
				return problem.answer(c)
			}
			return e.bridge(c, in, body)
		}
		if named, _ := sse.AcceptsEventStream(c.Get(fiber.HeaderAccept)); !named {
			return fault.New(fault.KindNotAcceptable, fault.CodeNotAcceptable, "Nothing to call. Send name and arguments or request in the query, or open a stream with Accept: text/event-stream.")
		}
		return e.openSSESession(c, in)
	default:
		return notAllowed(c, sseMethods, "Call a tool with POST or GET.")
	}
}

// bridgeQuery returns the JSON-RPC request in the query of a GET.
func bridgeQuery(query *fasthttp.Args) ([]byte, *errorResponse) {
	if query.Has(queryRequest) {
		if query.Has(queryName) || query.Has(queryArguments) {
			return nil, invalidRequest(nil, "request cannot be combined with name or arguments. Send one or the other.")
		}
		return append([]byte(nil), query.Peek(queryRequest)...), nil
	}
	body := append([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":`), rawjson.Quote(string(query.Peek(queryName)))...)
	if query.Has(queryArguments) {
		arguments := query.Peek(queryArguments)
		if err := rawjson.Valid(arguments, rawjson.Strict); err != nil {
			return nil, parseError("arguments is not valid JSON: " + err.Error() + ".")
		}
		body = append(append(body, `,"arguments":`...), arguments...)
	}
	return append(body, `}}`...), nil
}

// bridge runs one tool call and streams its progress and result. Errors of the
// call itself are messages of the stream.
func (e *Endpoint) bridge(c *fiber.Ctx, in *admitted, body []byte) error {
	messages, batch, problem := parseBody(body)
	switch {
	case problem != nil:
		return problem.answer(c)
	case batch:
		return invalidRequest(nil, "The SSE bridge accepts one tools/call request, not a batch. Send each call separately.").answer(c)
	case messages[0].method != methodCall:
		return invalidRequest(messages[0].id, "The SSE bridge accepts only tools/call. Send other methods to the request endpoint.").answer(c)
	}
	m := messages[0]
	if m.id == nil {
		m.id = []byte("null") // messages of the bridge have no id, so none is required
	}
	m.params = bridge.WithProgressToken(m.params)
	client := newClient(c, in)
	if err := e.permit(c, in, messages); err != nil {
		return err
	}
	if err := e.allow(in.view, client, messages); err != nil {
		return err
	}
	return e.streamCall(c, in.view, client, m)
}

// streamCall responds to a call with a stream of its progress and result.
func (e *Endpoint) streamCall(c *fiber.Ctx, project *toolset.Snapshot, client *gateway.Client, m *message) error {
	free, err := e.slots.Take(streamOwner(c, client.Principal))
	if err != nil {
		return err
	}
	event := web.EventOf(c)
	event.Method = m.method
	ctx, cancel := context.WithCancel(c.UserContext())
	unwatch := func() {}
	lease := e.Results.NewLease()
	client.Memory = lease
	stream := sse.NewStream(c, sse.StreamOptions{KeepAlive: e.KeepAlive, Closed: func() {
		unwatch()
		free()
		cancel()
		lease.Release()
	}})
	client.Notify = func(method string, params []byte) {
		if progress := bridge.Progress(method, params); progress != nil {
			stream.Offer("", progressMethod, progress)
		}
	}
	unwatch = conn.WatchDisconnect(c, func() {
		cancel()
		stream.Break()
	})
	event.Hold()
	event.Background.Go("bridge call", func() {
		defer event.Release()
		answered := false
		defer func() {
			if !answered { // after a panic
				stream.Break()
			}
		}()
		var trace gateway.RequestInfo
		result, err := e.handle(ctx, project, client, m, &trace)
		event.Tool, event.Upstream = trace.Tool, trace.Server
		last := [][]byte{[]byte(`{"type":"result","result":`), result, {'}'}}
		if err != nil {
			event.Fault(err)
			last = [][]byte{append(newErrorResponse(err, client, nil).appendError([]byte(`{"type":"error","error":`), event.Errors()), '}')}
		}
		stream.EndWithParts("", last, []byte(streamDone))
		answered = true
	})
	return stream.Respond(c)
}
