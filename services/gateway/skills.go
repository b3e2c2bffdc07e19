package gateway

import (
	"context"
	"strconv"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// The methods of the extension for skills (SEP-2640) that are forwarded.
const (
	methodSkill     = "skills/get"
	methodDirectory = "resources/directory/read"
)

// skillRequest handles the methods of the extension for skills. Without a server
// that has it they don't exist.
func (g *Gateway) skillRequest(ctx context.Context, project *toolset.Snapshot, client *Client, method string, params *rawjson.Object, trace *RequestInfo) ([]byte, error) {
	switch {
	case !project.Capabilities.Skills:
		return nil, UnknownMethod(method)
	case method == "skills/list":
		return g.listOffers(ctx, project, client, params, models.ListingSkill, "skills")
	default:
		return g.readSkill(ctx, project, client, method, params, trace)
	}
}

// readSkill sends skills/get or resources/directory/read to the server that owns
// the URI.
func (g *Gateway) readSkill(ctx context.Context, project *toolset.Snapshot, client *Client, method string, params *rawjson.Object, trace *RequestInfo) ([]byte, error) {
	uri, ok := params.String("uri")
	if !ok {
		return nil, fault.Invalid("uri must be a string: the URI of a skill's SKILL.md or of a directory.")
	}
	resource, err := skillResource(project, method, uri)
	if err != nil {
		return nil, err
	}
	alias := resource.Server.Config.Alias
	trace.Server = alias
	if resource.URI != uri {
		params.Set("uri", rawjson.Quote(resource.URI))
	}
	response, err := g.forward(ctx, client, &preparedRequest{server: resource.Server, method: method, params: params, name: uri})
	if err != nil {
		return nil, err
	}
	switch {
	case response.Error != nil:
		response.Error = asInvalidParams(response.Error)
	case method == methodSkill:
		response.Result = project.Addresses.SkillResult(alias, uri, resource.URI, response.Result)
	default:
		response.Result = project.Addresses.DirectoryResult(alias, uri, resource.URI, response.Result)
	}
	result, err := g.bridgeAnswer(project, response, client)
	if err != nil || !client.Stateless() || response.Stateless {
		return result, err
	}
	return withCacheHints(result)
}

// skillResource returns the skill or directory with a URI that clients use.
func skillResource(project *toolset.Snapshot, method, uri string) (toolset.Resource, error) {
	if method == methodDirectory {
		return project.Offers.Folder(uri)
	}
	return project.Offers.Skill(uri)
}

// asInvalidParams returns a raw JSON-RPC error with -32602 instead of -32002: in
// every revision that is the code for an unknown skill or directory.
func asInvalidParams(raw []byte) []byte {
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil || (&RPCError{Raw: raw}).Number() != upstream.CodeResourceNotFound {
		return raw
	}
	o.Set("code", strconv.AppendInt(nil, upstream.CodeInvalidParams, 10))
	return o.Bytes()
}
