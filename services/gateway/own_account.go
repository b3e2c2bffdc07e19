package gateway

import (
	"context"

	"mcpgateway/services/fault"
	"mcpgateway/services/gateway/connecting"
	"mcpgateway/services/gateway/urlelicitation"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// sendAsUser sends a client's request with the account of its user. If it is not
// connected, the response prompts the user to connect it, and a stateless client
// continues the call with another request.
func (g *Gateway) sendAsUser(ctx context.Context, client *Client, out *preparedRequest) (*upstream.Response, error) {
	call := connectingCall(client, out)
	declined, err := g.Connecting.Continue(ctx, call)
	switch {
	case err != nil:
		return nil, err
	case declined:
		return g.unsent(client, out, g.Connecting.Decline(call))
	}
	if client.Stateless() { // it may have waited for the connection
		if err := g.recheck(client, out); err != nil {
			return nil, err
		}
	}
	response, err := g.sendURLs(ctx, client, out)
	if !fault.Is(err, fault.CodeConnectionRequired) {
		return response, err
	}
	return g.unsent(client, out, g.Connecting.Prompt(call))
}

func connectingCall(client *Client, out *preparedRequest) *connecting.Call {
	return &connecting.Call{
		Server: &out.server.Config, UserID: client.Principal.UserID(), ProjectID: client.Principal.ProjectID(), Caller: client.Principal.Caller(),
		Method: out.method, RequestID: client.RequestID, Params: out.params,
		Stateless: client.Stateless(), URLErrors: client.Version == VersionLatestHandshake, Capabilities: client.Capabilities,
	}
}

// unsent returns the response for a call that was not sent, and records the
// client as the receiver of its elicitation.
func (g *Gateway) unsent(client *Client, out *preparedRequest, a connecting.Response) (*upstream.Response, error) {
	switch {
	case a.Fault != nil:
		return nil, a.Fault
	case a.Error != nil:
		r := &relay{serverID: out.server.Config.ID, userID: client.Principal.UserID(), config: &out.server.Config, elicitations: g.elicitations}
		r.client.Store(client)
		all, _ := urlelicitation.OfError(a.Error)
		for _, e := range all {
			g.elicitations.give(r, e.ID)
		}
		r.finish()
	}
	return &upstream.Response{Result: a.Result, Error: a.Error, Version: VersionLatestHandshake}, nil
}

// ExplainError returns the error for a request of a client that was not sent by
// Handle. CONNECTION_REQUIRED becomes an *RPCError or a fault with the URL where
// the user connects. Other errors are returned unchanged.
func (g *Gateway) ExplainError(client *Client, server *toolset.Server, method string, err error) error {
	if g.Connecting == nil || !fault.Is(err, fault.CodeConnectionRequired) {
		return err
	}
	request := &preparedRequest{server: server, method: method}
	response, err := g.unsent(client, request, g.Connecting.Prompt(connectingCall(client, request)))
	if err == nil && response.Error != nil {
		return &RPCError{Raw: response.Error}
	}
	return err
}

// ConnectionChanged continues the calls that wait for a user's connection to a
// server. If it is usable now, it notifies the clients that were prompted to open
// a URL.
func (g *Gateway) ConnectionChanged(ctx context.Context, serverID, userID string) {
	if g.Connecting == nil {
		return
	}
	g.Connecting.Changed(serverID, userID)
	for id, r := range g.elicitations.own(serverID, userID) {
		if g.pending(ctx, r.config, userID).Code == "" {
			g.elicitations.remove(elicitationKey{serverID, userID, id})
			r.push(upstream.ElicitationComplete, append(rawjson.AppendString([]byte(`{"elicitationId":`), id), '}'))
		}
	}
}
