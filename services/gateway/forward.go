package gateway

import (
	"bytes"
	"context"
	"slices"

	"mcpgateway/services/fault"
	"mcpgateway/services/gateway/urlelicitation"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// maxInputRounds is the maximum number of times a stateless server may require
// input in one call of a handshake client.
const maxInputRounds = 8

// preparedRequest is a request to an upstream server.
type preparedRequest struct {
	server  *toolset.Server
	target  *upstream.Target // set by forward
	method  string
	params  *rawjson.Object
	headers upstream.ParamHeaders
	// repeatable is set when the tool is annotated as read-only or idempotent.
	repeatable bool
	// name is the client's name of the tool, prompt or resource. A pending call
	// is bound to it.
	name string
	// questions is the number of requests for input to the client so far.
	questions int
	// task is the plan of a request about tasks, else nil.
	task *taskPlan
}

// forward sends a client's request to an upstream server, with the account of
// the client's user if users have their own. A user without a connection is
// prompted to connect.
func (g *Gateway) forward(ctx context.Context, client *Client, out *preparedRequest) (*upstream.Response, error) {
	var err error
	if out.target, err = out.server.Target.For(client.Principal.UserID()).With(client.Forwarded); err != nil {
		return nil, err
	}
	if out.target.Person == "" || g.Connecting == nil {
		return g.sendURLs(ctx, client, out)
	}
	return g.sendAsUser(ctx, client, out)
}

// send sends a client's request. During the call it relays progress and log
// messages, requests of handshake servers to the client, and input required by
// stateless servers.
func (g *Gateway) send(ctx context.Context, client *Client, out *preparedRequest) (*upstream.Response, error) {
	if client.Stateless() {
		if p, err := g.parked.take(client, out); p != nil || err != nil {
			if err != nil {
				return nil, err
			}
			return g.resume(ctx, client, p, out)
		}
	}
	declared, interactive := g.callCapabilities(client)
	r := g.newRelay(client, out)
	request := upstreamRequest(client, out, r, declared)
	out.task.prepare(request)
	if client.Stateless() && interactive {
		request.Params = out.params.Bytes() // the call may outlive this request
		request.Memory = parkedMemory{r}
		return g.callParkable(ctx, client, out, request, r)
	}
	defer r.finish()
	if !client.Stateless() && interactive {
		request.Serve = func(ctx context.Context, method string, params []byte) (result, rpcError []byte) {
			if method == "elicitation/create" {
				g.elicitations.give(r, elicitationID(params))
			}
			return forwardToClient(ctx, client, method, out.task.related(params))
		}
	}
	request.Parsed = out.params
	return g.converse(ctx, client, out, request, interactive)
}

// converse sends the request of a call, and sends it again with the input that a
// stateless server requires, as long as the client can provide it.
func (g *Gateway) converse(ctx context.Context, client *Client, out *preparedRequest, request *upstream.Request, interactive bool) (*upstream.Response, error) {
	var opened []string // elicitations with IDs of the gateway
	defer func() { completeURLs(client, opened) }()
	for {
		response, err := g.sendTask(ctx, out, request)
		if err != nil || client.Stateless() || !interactive || !response.Stateless {
			return response, err
		}
		wanted := inputRequired(response)
		if wanted == nil {
			return response, nil
		}
		hasURLs := len(urlelicitation.OfInput(wanted)) > 0
		if hasURLs && (out.questions == maxInputRounds || !opensURLs(client)) {
			return response, nil // the client receives the URLs as text
		}
		if out.questions == maxInputRounds {
			return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "The upstream server requested input more than %d times in one call.", maxInputRounds)
		}
		out.questions++
		accepted, err := g.collectInput(ctx, client, wanted, out.params)
		if err != nil {
			return nil, err
		}
		opened = append(opened, accepted...)
		if err := g.recheck(client, out); err != nil {
			return nil, err
		}
	}
}

// recheck looks a request up in the client's present view after it waited for
// the user, which takes time. It returns UNAUTHORIZED for a
// client that is no longer admitted, and otherwise the error of the first lookup.
func (g *Gateway) recheck(client *Client, out *preparedRequest) error {
	view, err := g.Views.Current(client.Principal)
	if err != nil {
		return err
	}
	var server *toolset.Server
	switch out.method {
	case "tools/call":
		tool, err := view.Resolve(out.name)
		if err != nil {
			return err
		}
		server = tool.Server
	case "prompts/get":
		prompt, err := view.Offers.Prompt(out.name)
		if err != nil {
			return err
		}
		server = prompt.Server
	case "resources/read":
		resource, err := view.Offers.Resource(out.name)
		if err != nil {
			return err
		}
		server = resource.Server
	case methodSkill, methodDirectory:
		resource, err := skillResource(view, out.method, out.name)
		if err != nil {
			return err
		}
		server = resource.Server
	default:
		server = view.Server(out.server.Config.Alias)
	}
	if server == nil || server.Config.ID != out.server.Config.ID {
		return fault.Upstream(fault.CodeUpstreamUnavailable, "The server changed during the call. Send the request again.")
	}
	return nil
}

// upstreamRequest returns the upstream request, without params. declared are the
// raw capabilities that it declares.
func upstreamRequest(client *Client, out *preparedRequest, r *relay, declared []byte) *upstream.Request {
	request := &upstream.Request{
		Method: out.method, ParamHeaders: out.headers, Repeatable: out.repeatable, Notify: r.notify, Stray: r.stray, LogLevel: wantedLevel(client),
		Client: upstreamClient(client, declared), Memory: client.Memory, Released: client.OpenStream,
		Logs: client.Notify != nil && !client.Stateless(), // by default a handshake client receives all log messages
	}
	if client.Notify == nil {
		request.Notify = nil
	}
	return request
}

// wantedLevel returns the log level to set on the upstream server for the
// client. It is empty if the client requested none or has no stream for log
// messages.
func wantedLevel(client *Client) string {
	if client.Notify == nil || !slices.Contains(LogLevels(), client.LogLevel) {
		return ""
	}
	return client.LogLevel
}

// inputRequired returns the result if it is an input_required result of a
// stateless server, or nil.
func inputRequired(response *upstream.Response) *rawjson.Object {
	if !bytes.Contains(response.Result, []byte(`"input_required"`)) {
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
