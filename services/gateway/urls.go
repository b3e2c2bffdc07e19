package gateway

import (
	"bytes"
	"context"
	"strings"
	"time"

	"mcpgateway/services/capabilities"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway/urlelicitation"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// sendURLs sends a client's request like send. URLs that the upstream server
// requires the user to open reach every client: in the form of its protocol version if it
// opens URLs, and else as text.
func (g *Gateway) sendURLs(ctx context.Context, client *Client, out *preparedRequest) (*upstream.Response, error) {
	if refused, err := g.continueURLs(ctx, client, out); refused != nil || err != nil {
		return refused, err
	}
	response, err := g.send(ctx, client, out)
	if err != nil {
		return nil, err
	}
	if response.Error != nil {
		if (&RPCError{Raw: response.Error}).Number() != upstream.CodeURLElicitationRequired {
			return response, nil
		}
		return g.bridgeURLError(client, out, response)
	}
	all := urlInput(response)
	if len(all) == 0 || client.Stateless() && opensURLs(client) {
		return response, nil
	}
	return withoutURLs(out, urlelicitation.Lines(all, "")...)
}

func opensURLs(client *Client) bool { return urlelicitation.Opens(client.Version, client.Capabilities) }

// urlInput returns the URLs that a stateless server requires the user to open.
func urlInput(response *upstream.Response) []urlelicitation.Elicitation {
	if !response.Stateless {
		return nil
	}
	if wanted := inputRequired(response); wanted != nil {
		return urlelicitation.OfInput(wanted)
	}
	return nil
}

// bridgeURLError returns the response for a client of a -32042 error, which only
// handshake clients that open URLs receive (MCP 2025-11-25, "URL Elicitation
// Required Error"). A stateless one receives an input request and continues the call.
func (g *Gateway) bridgeURLError(client *Client, out *preparedRequest, response *upstream.Response) (*upstream.Response, error) {
	opens := opensURLs(client)
	all, message := urlelicitation.OfError(response.Error)
	switch {
	case opens && !client.Stateless():
		g.giveURLs(client, out, all)
		return response, nil
	case opens && len(all) > 0 && allowsInput(out.method) && out.questions < urlelicitation.MaxQuestions:
		g.giveURLs(client, out, all)
		result, err := urlelicitation.InputRequired(all, func(names []string) (string, error) {
			state := urlelicitation.State{Call: urlCall(client, out), Names: names, Questions: out.questions + 1}
			for _, e := range all {
				state.IDs = append(state.IDs, e.ID)
			}
			return state.Seal(g.Tokens, time.Now())
		})
		if err != nil {
			return nil, err
		}
		return &upstream.Response{Result: result, Version: VersionLatestHandshake}, nil
	}
	return withoutURLs(out, urlelicitation.Lines(all, message)...)
}

// allowsInput reports whether the result of a method may require input (MCP
// 2026-07-28, "Multi Round-Trip Requests").
func allowsInput(method string) bool {
	switch method {
	case "tools/call", "prompts/get", "resources/read":
		return true
	}
	return false
}

// withoutURLs returns a failed tool result with the lines of text. Results of
// other methods have no such form, so it returns a fault for them.
func withoutURLs(out *preparedRequest, lines ...string) (*upstream.Response, error) {
	if out.method != "tools/call" {
		return nil, fault.Upstream(fault.CodeUpstreamError, "%s", strings.Join(lines, "\n"))
	}
	return &upstream.Response{Result: urlelicitation.Failure(lines...), Version: VersionLatestHandshake}, nil
}

// giveURLs records the client as the receiver of elicitations.
func (g *Gateway) giveURLs(client *Client, out *preparedRequest, all []urlelicitation.Elicitation) {
	r := &relay{serverID: out.server.Config.ID, userID: out.target.Person, elicitations: g.elicitations}
	r.client.Store(client)
	for _, e := range all {
		g.elicitations.give(r, e.ID)
	}
	r.finish()
}

func urlCall(client *Client, out *preparedRequest) urlelicitation.Call {
	return urlelicitation.Call{
		Project: client.Principal.ProjectID(), Principal: client.Principal.Caller(), Server: out.server.Config.ID,
		Method: out.method, Name: out.name, Forwarded: out.target.Forwarded,
	}
}

// continueURLs continues a call after a question to open URLs: it waits
// until the server reports that all are done, for at most 60 s, and removes the
// state from the params. If the user declined, it returns the response.
func (g *Gateway) continueURLs(ctx context.Context, client *Client, out *preparedRequest) (refused *upstream.Response, err error) {
	token, ok := out.params.String("requestState")
	if !ok || !client.Stateless() {
		return nil, nil
	}
	state, err := urlelicitation.Open(g.Tokens, token, urlCall(client, out), time.Now())
	if state == nil || err != nil {
		return nil, err
	}
	accepted := urlelicitation.Accepted(out.params.Object("inputResponses"), state.Names)
	out.params.Delete("requestState")
	out.params.Delete("inputResponses")
	if !accepted {
		return withoutURLs(out, "The user did not agree to open the URL that the tool requires.")
	}
	out.questions = state.Questions
	declared, _ := g.callCapabilities(client)
	defer g.Upstreams.Hold(ctx, out.target, upstreamClient(client, declared))()
	if err := g.elicitations.wait(ctx, out.server.Config.ID, out.target.Person, state.IDs, urlelicitation.WaitTime); err != nil {
		return nil, err
	}
	return nil, g.recheck(client, out)
}

// upstreamClient returns the client of an upstream request. declared are the
// raw capabilities that it declares.
func upstreamClient(client *Client, declared []byte) upstream.Client {
	return upstream.Client{
		SessionID: client.SessionID, Caller: client.Principal.ID(), Capabilities: declared,
		TraceParent: client.TraceParent, TraceState: client.TraceState, Hops: client.Hops,
	}
}

// SubscribingClient returns the upstream client of a session for its
// subscriptions: the one of its calls with a stream, so that both use one
// upstream session where each client has its own.
func SubscribingClient(client *Client) upstream.Client {
	declared := capabilities.ForCalls(client.Capabilities).Of(capabilities.Use{Interactive: true, Tasks: acceptsTasks(client)})
	return upstream.Client{SessionID: client.SessionID, Caller: client.Principal.ID(), Capabilities: bytes.Clone(declared)}
}

// completeURLs notifies a handshake client that URLs with IDs of the gateway are
// done, on the stream of its call.
func completeURLs(client *Client, ids []string) {
	for _, id := range ids {
		client.Notify(upstream.ElicitationComplete, append(rawjson.AppendString([]byte(`{"elicitationId":`), id), '}'))
	}
}
