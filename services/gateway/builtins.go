package gateway

import (
	"context"
	"encoding/json"
	"slices"

	"mcpgateway/services/arguments"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolset"
)

// Names of the built-in tools.
const (
	ToolSearch  = toolset.BuiltinSearch
	ToolExecute = toolset.BuiltinExecute
	// ToolList returns TypeScript declarations of tools.
	ToolList = toolset.BuiltinList
	// ToolRead reads results that were cut.
	ToolRead = toolset.BuiltinRead
)

// Search implements the built-in search tool.
type Search interface {
	// Search returns the raw JSON result for raw arguments, which may be nil.
	// It returns faults for invalid arguments.
	Search(ctx context.Context, project *toolset.Snapshot, caller toolsearch.Caller, arguments []byte) ([]byte, error)
}

// Definitions of the built-in tools. Some model APIs reject oneOf, anyOf and
// allOf at the top level of a schema. Arguments that exclude each other are
// therefore checked in calls.
const (
	searchDefinition = `{"name":"` + ToolSearch + `","title":"Search tools","description":"Finds tools in this project. Send task, one short sentence about one step, for ranked candidates; or query, literal terms and qualifiers (server:alias, name:text, param:text, readonly:true, destructive:false, -term, \"a phrase\"), for an exact, paginated search. Call a found tool by its name, directly or with ` + ToolExecute + `.",` +
		`"inputSchema":{"type":"object","properties":{` +
		`"task":{"type":"string","minLength":1,"maxLength":2048,"description":"What you want to do: one short sentence for one step, in any language. Name the server if you know it. Search once per step. Cannot be combined with query or cursor."},` +
		`"server":{"type":"string","description":"With task: only tools of the server with this alias."},` +
		`"offset":{"type":"integer","minimum":0,"maximum":10000,"description":"With task: number of candidates to skip. Send nextOffset of the previous result. Default 0."},` +
		`"query":{"type":"string","description":"Literal terms and qualifiers; all must match. Cannot be combined with task, server or offset."},` +
		`"cursor":{"type":"string","description":"With query: nextCursor of the previous result of the same query."},` +
		`"limit":{"type":"integer","minimum":1,"maximum":50,"description":"Maximum number of tools: 1 to 20 with task, default 5; 1 to 50 with query, default 20."},` +
		`"includeSchema":{"type":"boolean","description":"Include the inputSchema of each tool. Default false."}},"additionalProperties":false},` +
		`"outputSchema":{"type":"object","properties":{` +
		`"total":{"type":"integer"},"nextOffset":{"type":["integer","null"]},"truncated":{"type":"boolean"},"topTool":{"type":"string"},"candidates":{"type":"array","items":{"type":"object"}},` +
		`"results":{"type":"array","items":{"type":"object"}},"count":{"type":"integer"},"nextCursor":{"type":["string","null"]},"warnings":{"type":"array","items":{"type":"object"}},"coverage":{"type":"object"}}},` +
		`"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}`
	executeDefinition = `{"name":"` + ToolExecute + `","title":"Execute a tool","description":"Calls a tool of this project by its exact name, alias__tool, as returned by the search, with arguments that match its inputSchema. Returns the result of that tool.",` +
		`"inputSchema":{"type":"object","properties":{` +
		`"name":{"type":"string","description":"Exact name of the tool, alias__tool."},` +
		`"arguments":{"type":"object","description":"Arguments for the tool.","additionalProperties":true}},"additionalProperties":false},` +
		`"annotations":{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}}`
)

// builtinDefinitions are at the end of the last page of tools/list.
const builtinDefinitions = searchDefinition + "," + executeDefinition

// Builtins returns the raw definitions of the built-in tools of a project.
func (g *Gateway) Builtins(project *toolset.Snapshot) []json.RawMessage {
	var all []json.RawMessage
	if json.Unmarshal([]byte("["+g.builtinsOf(project)+"]"), &all) != nil {
		return nil // the definitions are constants
	}
	return all
}

// callerOf returns the caller of a search.
func callerOf(client *Client) toolsearch.Caller {
	return toolsearch.Caller{ID: client.Principal.Caller(), UserID: client.Principal.UserID()}
}

// searchTools handles the built-in search tool.
func (g *Gateway) searchTools(ctx context.Context, project *toolset.Snapshot, client *Client, params *rawjson.Object) ([]byte, error) {
	found, err := g.Search.Search(ctx, project, callerOf(client), params.Get("arguments"))
	if err != nil {
		return nil, err
	}
	result := append([]byte(`{"content":[`), textBlock(found)...)
	result = append(append(result, `],"structuredContent":`...), found...)
	result = append(result, '}')
	if client.Stateless() {
		return g.addResultMeta(project, result)
	}
	return result, nil
}

// executeTool handles the built-in tool that runs code or calls another tool.
// Such a call has the same filters and errors as a tools/call of that tool.
// Arguments of the other mode are a conflict, so that none is ignored.
func (g *Gateway) executeTool(ctx context.Context, project *toolset.Snapshot, client *Client, params *rawjson.Object, trace *RequestInfo) ([]byte, error) {
	given, err := arguments.Read(params.Get("arguments"), "name", "arguments", "code", "input", "timeout", "dryRun", "typecheck", "save")
	if err != nil {
		return nil, err
	}
	name, code := given.Get("name"), given.Get("code")
	switch {
	case name == nil && code == nil:
		return nil, fault.Invalid("Send name, the exact name of a tool (alias__tool), or code.")
	case name != nil && code != nil:
		return nil, arguments.Conflict("name and code cannot be combined. Send only one of them.")
	case code != nil && given.Get("arguments") != nil:
		return nil, arguments.Conflict("arguments cannot be combined with code. Send input instead.")
	case code != nil:
		return g.runCode(ctx, project, client, params, given)
	}
	for _, misplaced := range []string{"input", "timeout", "dryRun", "typecheck", "save"} {
		if given.Get(misplaced) != nil {
			return nil, arguments.Conflict(misplaced + " cannot be combined with name. Send it with code.")
		}
	}
	params.Set("name", name)
	if inner := given.Get("arguments"); inner != nil {
		params.Set("arguments", inner)
	} else {
		params.Set("arguments", []byte("{}"))
	}
	tool, err := calledTool(params, trace)
	if err != nil {
		return nil, err
	}
	if slices.Contains(toolset.Builtins(), tool) {
		return nil, fault.New(fault.KindNotFound, fault.CodeToolNotFound, "%s is a built-in tool. Call it with tools/call.", tool)
	}
	if err := checkForModels(project, tool); err != nil {
		return nil, err
	}
	inner := *client
	inner.inner = true
	return g.callUpstreamTool(ctx, project, &inner, tool, params, trace)
}

// checkForModels returns TOOL_DISABLED for a tool that only apps may call. Faults
// of the lookup are left to the call.
func checkForModels(project *toolset.Snapshot, name string) error {
	if t, err := project.Resolve(name); err == nil && t.App.Only {
		return fault.New(fault.KindDisabled, fault.CodeToolDisabled, "Tool %s is only for the app of its server, not for models.", t.FullName)
	}
	return nil
}
