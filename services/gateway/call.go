package gateway

import (
	"context"
	"time"

	"mcpgateway/services/access/quotas"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway/tasks"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
)

// callTool handles tools/call and records the call. asked is the size of the
// params in bytes.
func (g *Gateway) callTool(ctx context.Context, project *toolset.Snapshot, client *Client, params *rawjson.Object, asked int, trace *RequestInfo) ([]byte, error) {
	start := time.Now()
	arguments := params.Get("arguments")
	result, err := g.dispatchTool(ctx, project, client, params, trace)
	call := callOf(project, client, trace, start, asked, result, err)
	if project.Project.RecordPayloads && project.Project.RetentionPayloads > 0 {
		call.Payload = redactedPayload(project, arguments, result, err)
	}
	g.Calls.Record(call)
	return result, err
}

// dispatchTool handles tools/call: built-in tools here, all others by the
// upstream server that owns them.
func (g *Gateway) dispatchTool(ctx context.Context, project *toolset.Snapshot, client *Client, params *rawjson.Object, trace *RequestInfo) ([]byte, error) {
	name, err := calledTool(params, trace)
	if err != nil {
		return nil, err
	}
	switch name {
	case ToolSearch:
		return g.searchTools(ctx, project, client, params)
	case ToolList:
		return g.listDeclarations(ctx, project, client, params)
	case ToolRead:
		return g.readResult(ctx, project, client, params)
	case ToolExecute:
		return g.executeTool(ctx, project, client, params, trace)
	}
	if client.Code && name == toolDescribe {
		return describeTool(project, params)
	}
	if client.Code {
		err = checkForModels(project, name)
	} else {
		name, err = project.Called(name)
	}
	if err != nil {
		return nil, err
	}
	return g.callUpstreamTool(ctx, project, client, name, params, trace)
}

// calledTool returns the tool name in the params of tools/call and stores it in
// trace. Null arguments are removed, because MCP allows only an object. It
// returns INVALID_PARAMETER if name or arguments have the wrong type.
func calledTool(params *rawjson.Object, trace *RequestInfo) (string, error) {
	name, ok := params.String("name")
	if !ok {
		return "", fault.Invalid("name must be a string: the name of the tool to call.")
	}
	trace.Tool = clip(name)
	switch a := params.Get("arguments"); {
	case a == nil || rawjson.Kind(a) == '{':
	case rawjson.Kind(a) == 'n':
		params.Delete("arguments")
	default:
		return "", fault.Invalid("arguments must be an object.")
	}
	return name, nil
}

// callUpstreamTool sends tools/call, validated by calledTool, to the upstream
// server that owns the tool (specification, "MCP methods"). Arguments and
// result are forwarded as raw bytes. A tool failure remains a result.
func (g *Gateway) callUpstreamTool(ctx context.Context, project *toolset.Snapshot, client *Client, name string, params *rawjson.Object, trace *RequestInfo) ([]byte, error) {
	tool, err := project.Resolve(name)
	if fault.Is(err, fault.CodeConnectionRequired) {
		return g.callUnreadTool(ctx, project, client, name, params, trace, err)
	}
	if err != nil {
		return nil, err
	}
	if tool.Recipe != nil {
		return g.callRecipe(ctx, project, client, tool, params, trace)
	}
	alias := tool.Server.Config.Alias
	trace.Server = alias
	if trace.Tool != tool.Name { // a name without alias
		trace.Tool = clip(tool.FullName)
	}
	setArguments(project, alias, params)
	if err := g.checkArguments(project, tool, params); err != nil {
		return nil, err
	}
	if err := g.overrideArguments(tool, params); err != nil {
		return nil, err
	}
	plan, err := g.planTask(ctx, project, client, tool, params)
	if err != nil {
		return nil, err
	}
	defer plan.place.Release()
	if err := g.charge(project, client, tool); err != nil {
		return nil, err
	}
	params.Set("name", rawjson.Quote(tool.Upstream))
	out := &preparedRequest{
		server: tool.Server, method: "tools/call", params: params, headers: tool.ParamHeaders, repeatable: tool.Repeatable, name: tool.FullName, task: plan,
	}
	response, err := g.forward(ctx, client, out)
	if err != nil {
		return nil, err
	}
	if created := tasks.Created(response); created != nil && created.Form == plan.Holds {
		return g.giveTask(ctx, project, client, tool, out, created, response)
	}
	response.Result = project.Addresses.CallResult(alias, response.Result)
	result, err := g.bridgeToolResult(project, response, client, tool)
	return g.cutResult(ctx, project, client, tool, result), err
}

// checkArguments returns INVALID_PARAMETER if the project validates arguments and
// those of tools/call don't match the schema that clients see.
func (g *Gateway) checkArguments(project *toolset.Snapshot, tool *toolset.Tool, params *rawjson.Object) error {
	if !project.Project.ValidateArguments || g.Arguments == nil {
		return nil
	}
	arguments := params.Get("arguments")
	if arguments == nil {
		arguments = []byte("{}")
	}
	return g.Arguments.Check(tool.Definition, arguments)
}

// setArguments replaces qualified addresses of the server in the arguments of
// params by its own URIs.
func setArguments(project *toolset.Snapshot, alias string, params *rawjson.Object) {
	if arguments := params.Get("arguments"); !project.Addresses.Single() && arguments != nil {
		params.Set("arguments", project.Addresses.Arguments(alias, arguments))
	}
}

// overrideArguments adds the fixed arguments and the defaults of a tool's override
// to the params of tools/call. Without them it changes nothing. It returns
// INVALID_PARAMETER if the client sent a fixed argument.
func (g *Gateway) overrideArguments(tool *toolset.Tool, params *rawjson.Object) error {
	if tool.Override == nil || tool.Override.Arguments == nil {
		return nil
	}
	arguments, err := tool.Override.Arguments.Apply(params.Get("arguments"), g.References)
	if err != nil {
		return err
	}
	params.Set("arguments", arguments)
	return nil
}

// Quotas count calls of upstream tools. Allow returns a fault if a limit of the
// project is exhausted. Implemented by quotas.Quotas.
type Quotas interface {
	Allow(call quotas.Call) error
}

// charge counts a call of an upstream tool against the limits of its project.
// Every call passes it, after its tool was found in the caller's view and
// before anything is sent. It returns RATE_LIMITED with the time to wait.
func (g *Gateway) charge(project *toolset.Snapshot, client *Client, tool *toolset.Tool) error {
	if len(project.Project.Limits) == 0 || g.Quotas == nil {
		return nil
	}
	call := quotas.Call{
		Project: &project.Project, Person: client.Principal.UserID(), Toolsets: project.ToolsetsOf(tool), Tool: tool.FullName,
	}
	if client.Principal.IsKey() {
		call.Key = client.Principal.ID()
	}
	return g.Quotas.Allow(call)
}
