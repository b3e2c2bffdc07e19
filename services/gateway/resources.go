package gateway

import (
	"context"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
)

// readResource sends resources/read to the server that owns the URI. The result
// has the URI that the client requested.
func (g *Gateway) readResource(ctx context.Context, project *toolset.Snapshot, client *Client, params *rawjson.Object, trace *RequestInfo) ([]byte, error) {
	uri, ok := params.String("uri")
	if !ok {
		return nil, fault.Invalid("uri must be a string: the URI of the resource to read.")
	}
	resource, err := project.Offers.Resource(uri)
	if err != nil {
		return nil, err
	}
	alias := resource.Server.Config.Alias
	trace.Server = alias
	if resource.URI != uri {
		params.Set("uri", rawjson.Quote(resource.URI))
	}
	response, err := g.forward(ctx, client, &preparedRequest{server: resource.Server, method: "resources/read", params: params, name: uri})
	if err != nil {
		return nil, err
	}
	response.Result = project.Addresses.ReadResult(alias, uri, resource.URI, response.Result)
	result, err := g.bridgeAnswer(project, response, client)
	if err != nil || !client.Stateless() || response.Stateless {
		return result, err
	}
	return withCacheHints(result)
}

// withCacheHints adds the cache hints that MCP 2026-07-28 requires to a result
// of an older server. Such a result must not be reused.
func withCacheHints(result []byte) ([]byte, error) {
	o, err := rawjson.ParseObject(result, rawjson.Lenient)
	if err != nil {
		return nil, fault.Internal(err)
	}
	if typ, _ := o.String("resultType"); typ != "complete" {
		return result, nil
	}
	if o.Get("ttlMs") == nil {
		o.Set("ttlMs", []byte("0"))
	}
	if o.Get("cacheScope") == nil {
		o.Set("cacheScope", []byte(`"private"`))
	}
	return o.Bytes(), nil
}

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
