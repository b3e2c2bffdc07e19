package gateway

import (
	"context"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
)

// callTool answers tools/call, whose params have so many bytes, and has it
// recorded.
func (g *Gateway) callTool(ctx context.Context, project *toolset.Snapshot, client *Client, params *rawjson.Object, asked int, trace *Trace) ([]byte, error) {
	start := time.Now()
	arguments := params.Get("arguments")
	result, err := g.dispatchTool(ctx, project, client, params, trace)
	call := callOf(project, client, trace, start, asked, result, err)
	if project.Project.RecordPayloads {
		call.Payload = payloadOf(project, arguments, result, err)
	}
	g.Calls.Record(call)
	return result, err
}

// dispatchTool answers tools/call: a built-in tool here, every other by the
// server that owns it.
func (g *Gateway) dispatchTool(ctx context.Context, project *toolset.Snapshot, client *Client, params *rawjson.Object, trace *Trace) ([]byte, error) {
	name, err := calledTool(params, trace)
	if err != nil {
		return nil, err
	}
	switch name {
	case ToolSearch:
		return g.searchTools(ctx, project, client, params)
	case ToolList:
		return g.listDeclarations(ctx, project, client, params)
	case ToolExecute:
		return g.executeTool(ctx, project, client, params, trace)
	default:
		return g.callUpstreamTool(ctx, project, client, name, params, trace)
	}
}

// calledTool returns the name of the tool that the params of tools/call ask
// for, and notes it. Null arguments are removed: the method takes an object or
// none. It returns INVALID_PARAMETER when name or arguments are not what the
// method takes.
func calledTool(params *rawjson.Object, trace *Trace) (string, error) {
	name, ok := params.String("name")
	if !ok {
		return "", fault.Invalid("name must be the name of a tool, as a string")
	}
	trace.Tool = clip(name)
	switch a := params.Get("arguments"); {
	case a == nil || rawjson.Kind(a) == '{':
	case rawjson.Kind(a) == 'n':
		params.Delete("arguments")
	default:
		return "", fault.Invalid("arguments must be an object")
	}
	return name, nil
}

// callUpstreamTool sends tools/call, whose name and arguments were judged, to
// the upstream server that owns the tool (specification, "MCP methods").
// Arguments and result pass through as raw bytes; a tool's own failure stays a
// result. The gateway agrees on tasks with no client, so task metadata is
// ignored, as it must be then (MCP 2025-11-25, "Tasks", "Task Support and
// Handling"): an upstream that has tasks would return a task, which the client
// cannot get.
func (g *Gateway) callUpstreamTool(ctx context.Context, project *toolset.Snapshot, client *Client, name string, params *rawjson.Object, trace *Trace) ([]byte, error) {
	tool, err := project.Resolve(name)
	if err != nil {
		return nil, err
	}
	trace.Server = tool.Server.Config.Alias
	params.Set("name", rawjson.Quote(tool.Upstream))
	params.Delete("task")
	response, err := g.forward(ctx, client, &outgoing{
		server: tool.Server, method: "tools/call", params: params, headers: tool.ParamHeaders, repeatable: tool.Repeatable, name: tool.FullName,
	})
	if err != nil {
		return nil, err
	}
	return g.bridgeAnswer(response, client)
}
