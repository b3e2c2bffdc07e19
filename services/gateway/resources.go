package gateway

import (
	"context"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
)

// readResource sends resources/read to the server that owns the URI.
func (g *Gateway) readResource(ctx context.Context, project *toolset.Snapshot, client *Client, params *rawjson.Object, trace *RequestInfo) ([]byte, error) {
	uri, ok := params.String("uri")
	if !ok {
		return nil, fault.Invalid("uri must be a string: the URI of the resource to read.")
	}
	server, err := resourceOwner(project, uri)
	if err != nil {
		return nil, err
	}
	trace.Server = server.Config.Alias
	response, err := g.forward(ctx, client, &preparedRequest{server: server, method: "resources/read", params: params, name: uri})
	if err != nil {
		return nil, err
	}
	result, err := g.bridgeAnswer(project, response, client)
	if err != nil || !client.Stateless() || response.Stateless {
		return result, err
	}
	return withCacheHints(result)
}

// resourceOwner returns the server that owns a URI, or RESOURCE_NOT_FOUND.
func resourceOwner(project *toolset.Snapshot, uri string) (*toolset.Server, error) {
	server, err := project.Offers.ResourceOwner(uri)
	if err != nil {
		f := fault.New(fault.KindNotFound, fault.CodeResourceNotFound, "%s", fault.From(err).Message)
		f.Fields = map[string]string{"uri": uri}
		return nil, f
	}
	return server, nil
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
