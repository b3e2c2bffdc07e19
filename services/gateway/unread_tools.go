package gateway

import (
	"context"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
)

const (
	// unreadWait is the maximum time for which a continued call waits until the
	// tools of a server are read, and unreadTick the interval of the checks.
	unreadWait = 10 * time.Second
	unreadTick = 50 * time.Millisecond
)

// callUnreadTool handles a call to a server where every user has their own
// account and whose tools were never read, because no user connected one. The
// caller is prompted to connect, so that the gateway can also read the tools. For
// a caller who is connected it returns the error of the lookup.
func (g *Gateway) callUnreadTool(ctx context.Context, project *toolset.Snapshot, client *Client, name string, params *rawjson.Object, trace *RequestInfo, unread error) ([]byte, error) {
	alias, upstream, _ := toolset.SplitName(name)
	server := project.Server(alias)
	if g.Connecting == nil || server == nil || !server.Config.IsPersonal() {
		return nil, unread
	}
	trace.Server = alias
	params.Set("name", rawjson.Quote(upstream)) // the state is bound to what a call to the server has
	out := &preparedRequest{server: server, method: "tools/call", params: params}
	call := connectingCall(client, out)
	continued := params.Get("requestState") != nil
	declined, err := g.Connecting.Continue(ctx, call)
	if err != nil {
		return nil, err
	}
	prompt := g.Connecting.Prompt
	switch {
	case declined:
		prompt = g.Connecting.Decline
	case g.pending(ctx, &server.Config, client.Principal.UserID()).Code != "":
	case continued:
		return g.callWhenRead(ctx, client, name, params, trace)
	default:
		return nil, unread
	}
	response, err := g.unsent(client, out, prompt(call))
	if err != nil {
		return nil, err
	}
	return g.bridgeAnswer(project, response, client)
}

// callWhenRead calls a tool as soon as its server's tools are read. It returns
// the error of the lookup if that takes too long.
func (g *Gateway) callWhenRead(ctx context.Context, client *Client, name string, params *rawjson.Object, trace *RequestInfo) ([]byte, error) {
	deadline := time.Now().Add(unreadWait)
	for {
		view, err := g.Views.Current(client.Principal)
		if err != nil {
			return nil, err
		}
		if _, err = view.Resolve(name); !fault.Is(err, fault.CodeConnectionRequired) {
			return g.callUpstreamTool(ctx, view, client, name, params, trace)
		}
		if time.Now().After(deadline) {
			return nil, err
		}
		select {
		case <-time.After(unreadTick):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
