package gateway

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/codemode"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolset"
	"mcpgateway/services/typescript"
)

// versionOfCode is the protocol version of calls made by code: the newest with
// structured content and without the members of stateless results.
const versionOfCode = "2025-11-25"

// maxNamed is the maximum number of namespaces in the description of the tool
// that runs code. It limits the tokens that every client spends on it.
const maxNamed = 60

// Declarations implement gateway_listTools. Implemented by
// codemode.Declarations.
type Declarations interface {
	List(ctx context.Context, project *toolset.Snapshot, caller toolsearch.Caller, arguments []byte) (*codemode.Listing, error)
	Full(ctx context.Context, project *toolset.Snapshot) (*typescript.Declared, error)
}

// CodeRunner runs code. Implemented by codemode.Runner.
type CodeRunner interface {
	Run(ctx context.Context, q codemode.Request, d codemode.Dispatcher) (codemode.Outcome, error)
	CanTypecheck() bool
}

// CallLimits limit the rate of tool calls. Allow returns a fault if the
// principal may not make that many calls now.
type CallLimits interface {
	Allow(project *models.Project, principal access.Principal, calls int) error
}

// codeTools is the key of the tools that code can call, derived from a snapshot.
type codeTools struct{}

// toolsForCode returns the tools of a snapshot in the form for code.
func toolsForCode(project *toolset.Snapshot) []codemode.Tool {
	return toolset.Derive(project, codeTools{}, func() []codemode.Tool {
		tools := make([]codemode.Tool, 0, len(project.Tools))
		for _, t := range toolset.ForModels(project.Tools) {
			tools = append(tools, codemode.Tool{
				Name: t.Name, Alias: t.Server.Config.Alias, ToolName: t.Local(), Definition: t.Definition, Effect: codemode.EffectOf(t.Definition),
			})
		}
		return tools
	})
}

// listDeclarations handles gateway_listTools.
func (g *Gateway) listDeclarations(ctx context.Context, project *toolset.Snapshot, client *Client, params *rawjson.Object) ([]byte, error) {
	listing, err := g.Declarations.List(ctx, project, callerOf(client), params.Get("arguments"))
	if err != nil {
		return nil, err
	}
	result := append([]byte(`{"content":[`), textBlock([]byte(listing.Text))...)
	result = append(result, ']')
	if client.Version >= VersionStructured {
		result = append(append(result, `,"structuredContent":`...), listing.Structured...)
	}
	result = append(result, '}')
	if client.Stateless() {
		return g.addResultMeta(project, result)
	}
	return result, nil
}

// codeArguments are the arguments of gateway_executeTool with code.
type codeArguments struct {
	Code      string             `json:"code"`
	Input     json.RawMessage    `json:"input"`
	Timeout   *float64           `json:"timeout"` // milliseconds
	DryRun    bool               `json:"dryRun"`
	Typecheck codemode.Typecheck `json:"typecheck"`
}

// runCode handles gateway_executeTool with code. given are the arguments from
// arguments.Read. The outcome of the code is a result, even if the code fails.
// Faults concern only the request.
func (g *Gateway) runCode(ctx context.Context, project *toolset.Snapshot, client *Client, params, given *rawjson.Object) ([]byte, error) {
	if !project.Project.CodeModeEnabled {
		return nil, fault.New(fault.KindDisabled, fault.CodeCodeModeDisabled, "Code Mode is off in this project. Call a tool by its name.")
	}
	var a codeArguments
	if err := json.Unmarshal(given.Bytes(), &a); err != nil {
		return nil, fault.Invalid("An argument has the wrong type: code must be a string, timeout a number of milliseconds, dryRun a boolean, typecheck off, warn or error.")
	}
	q := codemode.Request{
		ProjectID: project.Project.ID, Principal: client.Principal.ID(), Code: a.Code, Input: a.Input, DryRun: a.DryRun, Typecheck: a.Typecheck,
		Progress: codeProgress(client, params),
	}
	if a.Timeout != nil {
		if *a.Timeout < 1 || *a.Timeout > float64(codemode.MaxTimeout.Milliseconds()) {
			return nil, fault.Invalid("timeout must be from 1 to %d milliseconds.", codemode.MaxTimeout.Milliseconds())
		}
		q.Timeout = time.Duration(*a.Timeout) * time.Millisecond
	}
	outcome, err := g.Run(ctx, project, client, q)
	if err != nil {
		return nil, err
	}
	result, err := outcome.ToolResult()
	if err != nil {
		return nil, fault.Internal(err)
	}
	if client.Stateless() {
		return g.addResultMeta(project, result)
	}
	return result, nil
}

// Run runs code for a client, with the client's tools and the project's limits.
// Calls made by the code are limited and recorded like other calls of the
// client. It returns the faults of codemode.Runner.Run.
func (g *Gateway) Run(ctx context.Context, project *toolset.Snapshot, client *Client, q codemode.Request) (codemode.Outcome, error) {
	q.Tools = toolsForCode(project)
	q.AllowFetch = project.Project.CodeModeAllowFetch
	q.ProjectLimit = max(codemode.MinTimeout, min(codemode.MaxTimeout, time.Duration(project.Project.CodeModeTimeoutMS)*time.Millisecond))
	q.Declarations = func() (string, error) {
		declared, err := g.Declarations.Full(ctx, project)
		if err != nil {
			return "", err
		}
		return declared.Text, nil
	}
	return g.Runner.Run(ctx, q, &codeCalls{gateway: g, client: client})
}

// codeCalls implements codemode.Dispatcher for one run.
type codeCalls struct {
	gateway *Gateway
	client  *Client
}

// Call calls a tool like a tools/call of the same client. It uses the client's
// present view, so tools that were disabled or withdrawn during the run are
// rejected, and it counts against the client's rate limit.
func (c *codeCalls) Call(ctx context.Context, name string, arguments []byte) ([]byte, error) {
	project, err := c.gateway.Views.Current(c.client.Principal)
	if err != nil {
		return nil, err
	}
	if err := c.gateway.Limits.Allow(&project.Project, c.client.Principal, 1); err != nil {
		return nil, err
	}
	raw := append(rawjson.AppendString([]byte(`{"name":`), name), `,"arguments":`...)
	raw = append(append(raw, arguments...), '}')
	params, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil {
		return nil, fault.Invalid("The arguments must be a JSON object.")
	}
	memory := c.gateway.Results.NewLease()
	defer memory.Release() // afterwards the result counts against the run's memory limit
	inner := &Client{Principal: c.client.Principal, Code: true, Version: versionOfCode, RequestID: c.client.RequestID, SessionID: c.client.SessionID, Memory: memory, originalOutput: true}
	return c.gateway.callTool(ctx, project, inner, params, len(raw), &RequestInfo{})
}

// codeProgress returns the function that sends the progress of a run to the
// client, or nil if the client didn't request progress (MCP 2025-11-25,
// "Progress").
func codeProgress(client *Client, params *rawjson.Object) func(codemode.Progress) {
	token := params.Object("_meta").Get("progressToken")
	if token == nil || client.Notify == nil {
		return nil
	}
	count := 0
	return func(p codemode.Progress) {
		count++ // progress must increase with each notification
		b := append(append([]byte(`{"progressToken":`), token...), `,"progress":`...)
		b = strconv.AppendInt(b, int64(count), 10)
		b = rawjson.AppendString(append(b, `,"message":`...), p.Message)
		client.Notify("notifications/progress", append(b, '}'))
	}
}

// builtinsOf returns the definitions of a project's built-in tools, for the end
// of tools/list.
func (g *Gateway) builtinsOf(project *toolset.Snapshot) string {
	if !project.Project.CodeModeEnabled {
		return builtinDefinitions
	}
	description := codeDescription + namespaces(project)
	var b strings.Builder
	b.WriteString(searchDefinition + "," + listDefinition + `,{"name":"` + ToolExecute + `","title":"Execute a tool or code","description":`)
	b.Write(rawjson.Quote(description))
	b.WriteString(`,"inputSchema":{"type":"object","properties":{` + codeProperties)
	if g.Runner.CanTypecheck() {
		b.WriteString(`,` + typecheckProperty)
	}
	b.WriteString(`},"additionalProperties":false},"annotations":{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}}`)
	return b.String()
}

// namespaces returns a sentence with the namespaces of the servers in code, or
// "".
func namespaces(project *toolset.Snapshot) string {
	var names []string
	for _, server := range project.Servers {
		if server.Config.IsOffered() {
			names = append(names, typescript.Identifier(server.Config.Alias))
		}
	}
	if len(names) == 0 {
		return ""
	}
	more := ""
	if len(names) > maxNamed {
		names, more = names[:maxNamed], ", …"
	}
	return " Namespaces: " + strings.Join(names, ", ") + more + "."
}

const (
	listDefinition = `{"name":"` + ToolList + `","title":"List tools as TypeScript","description":"Returns the tools of this project as TypeScript declarations, for use in code run by ` + ToolExecute + `. Without arguments it returns all tools; with query, one page of matching tools. query has the same syntax as in ` + ToolSearch + `.",` +
		`"inputSchema":{"type":"object","properties":{` +
		`"filter":{"type":"string","description":"Only tools with this text in their name or description. Cannot be combined with query."},` +
		`"query":{"type":"string","description":"Literal terms and qualifiers; all must match. Returns one page as JSON."},` +
		`"limit":{"type":"integer","minimum":1,"maximum":50,"description":"With query: maximum number of declarations per page. Default 20."},` +
		`"cursor":{"type":"string","description":"With query: nextCursor of the previous result of the same query."}},"additionalProperties":false},` +
		`"outputSchema":{"type":"object","properties":{"declarations":{"type":"string"},"count":{"type":"integer"},"nextCursor":{"type":["string","null"]},"warnings":{"type":"array","items":{"type":"object"}},"coverage":{"type":"object"}}},` +
		`"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}`

	codeDescription = `Calls one tool by its exact name, alias__tool, with arguments; or runs code: the body of an async TypeScript function that calls any number of tools and returns one value. ` +
		`In code, each server is a namespace and each of its tools a function: const issues = await github.list_issues({owner, repo}); use brackets for names that are not identifiers: github["list-issues"]({…}). ` +
		`Get the types from ` + ToolList + `. A call returns the tool's structured content, or else its text (parsed if it is JSON); a tool failure throws ToolError. ` +
		`Use Promise.all for independent calls, filter and shorten results in code, and return only what you need: results of inner calls are not shown. ` +
		`console.log output is returned. Modules and files are not available. With dryRun, calls that may write are recorded but not sent.`

	codeProperties = `"name":{"type":"string","description":"Exact name of the tool, alias__tool. Cannot be combined with code."},` +
		`"arguments":{"type":"object","description":"With name: arguments for the tool.","additionalProperties":true},` +
		`"code":{"type":"string","maxLength":65536,"description":"TypeScript: the body of an async function. Cannot be combined with name."},` +
		`"input":{"description":"With code: any JSON value, available in code as the variable input."},` +
		`"timeout":{"type":"number","description":"With code: time limit in milliseconds, up to the project's limit."},` +
		`"dryRun":{"type":"boolean","description":"With code: record calls that may write instead of sending them. Default false."}`

	typecheckProperty = `"typecheck":{"type":"string","enum":["off","warn","error"],"description":"With code: check types before the run. warn reports type errors and runs the code; error stops. Default off."}`
)
