package gateway

import (
	"context"
	"slices"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// maxInputRounds bounds how often an upstream may ask for more input in one
// call of a handshake client.
const maxInputRounds = 8

// outgoing is one request on its way to an upstream.
type outgoing struct {
	server  *toolset.Server
	method  string
	params  *rawjson.Object
	headers upstream.ParamHeaders
	// repeatable is set when the tool is annotated as read-only or idempotent.
	repeatable bool
	// name is what the client calls the thing, to which a parked call is bound.
	name string
}

// forward sends a client's request to an upstream and relays what happens in
// the middle: progress and log messages, questions of handshake upstreams,
// and the input that stateless upstreams ask for.
func (g *Gateway) forward(ctx context.Context, client *Client, out *outgoing) (*upstream.Response, error) {
	if client.Stateless() {
		if p, err := g.parked.take(client, out); p != nil || err != nil {
			if err != nil {
				return nil, err
			}
			return g.resume(ctx, client, p, out)
		}
	}
	capabilities := relayedCapabilities(client)
	r := g.newRelay(client, out.server, out.params)
	request := upstreamRequest(client, out, r, capabilities)
	if client.Stateless() && capabilities != nil {
		request.Params = out.params.Bytes() // the call may outlive this request
		request.Memory = parkedMemory{r}
		return g.callParkable(ctx, client, out, request, r)
	}
	defer r.finish()
	if client.Ask != nil && capabilities != nil {
		request.Serve = func(ctx context.Context, method string, params []byte) (result, rpcError []byte) {
			if method == "elicitation/create" {
				g.elicitations.give(r, params)
			}
			return ask(ctx, client, method, params)
		}
	}
	request.Parsed = out.params
	for range maxInputRounds {
		response, err := g.Upstreams.Call(ctx, out.server.Target, request)
		if err == nil && response.Error != nil {
			g.elicitations.giveAll(r, response.Error)
		}
		if err != nil || client.Stateless() || capabilities == nil || !response.Stateless {
			return response, err
		}
		wanted := inputRequired(response)
		if wanted == nil {
			return response, nil
		}
		if err := g.collectInput(ctx, client, wanted, out.params); err != nil {
			return nil, err
		}
	}
	return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "the upstream asked for input more than %d times in one call", maxInputRounds)
}

// upstreamRequest returns the request for a client's request without its params.
// capabilities are those that the client can be asked for.
func upstreamRequest(client *Client, out *outgoing, r *relay, capabilities []byte) *upstream.Request {
	request := &upstream.Request{
		Method: out.method, ParamHeaders: out.headers, Repeatable: out.repeatable, Notify: r.notify, Stray: r.stray, LogLevel: wantedLevel(client),
		Client: upstream.Client{SessionID: client.SessionID, Caller: client.Principal.ID(), Capabilities: capabilities, TraceParent: client.TraceParent, TraceState: client.TraceState, Hops: client.Hops},
		Memory: client.Memory,
	}
	if client.Notify == nil {
		request.Notify = nil
	}
	return request
}

// wantedLevel returns the level of log messages that an upstream is to be set
// to for the client; empty for one that never asked or has no stream for them.
func wantedLevel(client *Client) string {
	if client.Notify == nil || !slices.Contains(LogLevels(), client.LogLevel) {
		return ""
	}
	return client.LogLevel
}

// inputRequired returns the result of a stateless upstream that asks for
// input, or nil.
func inputRequired(response *upstream.Response) *rawjson.Object {
	if response.Result == nil {
		return nil
	}
	o, err := rawjson.ParseObject(response.Result, rawjson.Lenient)
	if err != nil {
		return nil
	}
	if typ, _ := o.String("resultType"); typ != "input_required" {
		return nil
	}
	return o
}
