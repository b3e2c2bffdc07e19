package gateway

import (
	"context"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// callTool sends tools/call to the upstream server that owns the tool
// (specification, "MCP methods"). Arguments and result pass through as raw
// bytes; a tool's own failure stays a result.
func (g *Gateway) callTool(ctx context.Context, project *toolset.Snapshot, client *Client, params *rawjson.Object, trace *Trace) ([]byte, error) {
	name, ok := params.String("name")
	if !ok {
		return nil, fault.Invalid("name must be the name of a tool, as a string")
	}
	trace.Tool = clip(name)
	if a := params.Get("arguments"); a != nil && rawjson.Kind(a) != '{' && rawjson.Kind(a) != 'n' {
		return nil, fault.Invalid("arguments must be an object")
	}
	tool, err := project.Resolve(name)
	if err != nil {
		return nil, err
	}
	trace.Server = tool.Server.Config.Alias
	params.Set("name", rawjson.Quote(tool.Upstream))
	withoutProgressToken(params)
	response, err := g.upstreams.Call(ctx, tool.Server.Target, &upstream.Request{
		Method: "tools/call", Params: params.Bytes(), ParamHeaders: tool.ParamHeaders,
		Client: upstream.Client{SessionID: client.SessionID, Capabilities: relayedCapabilities(client)},
	})
	if err != nil {
		return nil, err
	}
	return g.bridgeAnswer(response, client)
}

// withoutProgressToken removes the client's progress token: the answer is one
// JSON object, so progress would have nowhere to go.
func withoutProgressToken(params *rawjson.Object) {
	meta := params.Object("_meta")
	if meta == nil || !meta.Delete("progressToken") {
		return
	}
	if meta.Len() == 0 {
		params.Delete("_meta")
		return
	}
	params.Set("_meta", meta.Bytes())
}
