package gateway

import (
	"context"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
)

// getPrompt sends prompts/get to the server that owns the prompt.
func (g *Gateway) getPrompt(ctx context.Context, project *toolset.Snapshot, client *Client, params *rawjson.Object, trace *RequestInfo) ([]byte, error) {
	name, ok := params.String("name")
	if !ok {
		return nil, fault.Invalid("name must be a string: the name of the prompt.")
	}
	trace.Tool = clip(name)
	prompt, err := project.Offers.Prompt(name)
	if err != nil {
		return nil, err
	}
	alias := prompt.Server.Config.Alias
	trace.Server = alias
	params.Set("name", rawjson.Quote(prompt.Upstream))
	if rawjson.Kind(params.Get("arguments")) == 'n' {
		params.Delete("arguments")
	}
	setArguments(project, alias, params)
	response, err := g.forward(ctx, client, &preparedRequest{server: prompt.Server, method: "prompts/get", params: params, name: prompt.FullName})
	if err != nil {
		return nil, err
	}
	response.Result = project.Addresses.PromptResult(alias, response.Result)
	return g.bridgeAnswer(project, response, client)
}

// complete sends completion/complete to the server that owns the referenced
// prompt or resource template.
func (g *Gateway) complete(ctx context.Context, project *toolset.Snapshot, client *Client, params *rawjson.Object, trace *RequestInfo) ([]byte, error) {
	ref := params.Object("ref")
	var server *toolset.Server
	switch typ, _ := ref.String("type"); typ {
	case "ref/prompt":
		name, _ := ref.String("name")
		prompt, err := project.Offers.Prompt(name)
		if err != nil {
			return nil, err
		}
		server = prompt.Server
		ref.Set("name", rawjson.Quote(prompt.Upstream))
		params.Set("ref", ref.Bytes())
	case "ref/resource":
		uri, _ := ref.String("uri")
		template, err := project.Offers.Template(uri)
		if err != nil {
			return nil, err
		}
		server = template.Server
		ref.Set("uri", rawjson.Quote(template.URI))
		params.Set("ref", ref.Bytes())
	default:
		return nil, fault.Invalid("ref must be an object with the type ref/prompt or ref/resource.")
	}
	trace.Server = server.Config.Alias
	response, err := g.forward(ctx, client, &preparedRequest{server: server, method: "completion/complete", params: params})
	if err != nil {
		return nil, err
	}
	return g.bridgeAnswer(project, response, client)
}

// listOffers handles prompts/list, resources/list and resources/templates/list
// from the snapshot. member is the member of the result for the list.
func (g *Gateway) listOffers(ctx context.Context, project *toolset.Snapshot, client *Client, params *rawjson.Object, kind models.ListingKind, member string) ([]byte, error) {
	id := project.Offers.ListID(kind)
	page, err := g.requestedPage(project, client, id, params)
	if err != nil {
		return nil, err
	}
	items, more, ok := project.Offers.Page(kind, page)
	if !ok {
		return nil, invalidCursor()
	}
	return g.listResult(ctx, project, client, list{member: member, items: items, id: id, page: page, more: more})
}
