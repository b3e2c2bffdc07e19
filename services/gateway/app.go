package gateway

import (
	"context"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
)

// ReadApp reads the user interface of a tool from the tool's server, like
// resources/read of a client. It returns the raw result, NOT_FOUND for a tool
// without an app, and TOOL_DISABLED for a hidden one.
func (g *Gateway) ReadApp(ctx context.Context, project *toolset.Snapshot, client *Client, tool *toolset.Tool) ([]byte, error) {
	switch {
	case len(tool.App.URIs) == 0:
		return nil, fault.New(fault.KindNotFound, fault.CodeNotFound, "Tool %s has no app.", tool.FullName)
	case tool.Hidden != toolset.Visible:
		return nil, fault.New(fault.KindDisabled, fault.CodeToolDisabled, "Tool %s is %s.", tool.FullName, tool.Hidden)
	}
	uri := tool.App.URIs[0]
	params, err := rawjson.ParseObject(append(rawjson.AppendString([]byte(`{"uri":`), uri), '}'), rawjson.Strict)
	if err != nil {
		return nil, fault.Internal(err)
	}
	response, err := g.forward(ctx, client, &preparedRequest{server: tool.Server, method: "resources/read", params: params, name: uri})
	if err != nil {
		return nil, err
	}
	return g.bridgeAnswer(project, response, client)
}
