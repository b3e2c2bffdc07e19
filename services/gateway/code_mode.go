package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/arguments"
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

// toolDescribe is the name of gateway.describe in the calls of code. Other
// clients can't call it.
const toolDescribe = "gateway_describe"

// fewTokens is the number of tokens of declarations up to which a model need not
// use a query.
const fewTokens = 4_000

// Declarations implement gateway_listTools. Implemented by
// codemode.Declarations.
type Declarations interface {
	List(ctx context.Context, project *toolset.Snapshot, caller toolsearch.Caller, arguments []byte) (*codemode.Listing, error)
	// ForCode returns the declarations for a type check of code.
	ForCode(ctx context.Context, project *toolset.Snapshot, code string) (string, error)
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

// describeTool handles gateway.describe: it returns the declaration of one tool
// of the caller's view as text.
func describeTool(project *toolset.Snapshot, params *rawjson.Object) ([]byte, error) {
	given, err := arguments.Read(params.Get("arguments"), "name")
	if err != nil {
		return nil, err
	}
	name, ok := given.String("name")
	if !ok {
		return nil, fault.Invalid("name must be a string: the name of the tool to describe, alias__tool.")
	}
	if err := checkForModels(project, name); err != nil {
		return nil, err
	}
	tool, err := project.Resolve(name)
	if err != nil {
		return nil, err
	}
	// The text isn't JSON, so the code gets it as it is.
	result := append([]byte(`{"content":[`), textBlock([]byte(typescript.DeclareOne(tool)))...)
	return append(result, "]}"...), nil
}

// codeArguments are the arguments of gateway_executeTool with code.
type codeArguments struct {
	Code      string             `json:"code"`
	Input     json.RawMessage    `json:"input"`
	Timeout   *float64           `json:"timeout"` // milliseconds
	DryRun    bool               `json:"dryRun"`
	Typecheck codemode.Typecheck `json:"typecheck"`
	Save      json.RawMessage    `json:"save"` // see readSave
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
	if q.Typecheck == "" {
		q.Typecheck = codemode.TypecheckWarn // without a compiler this has no effect
	}
	if a.Timeout != nil {
		if *a.Timeout < 1 || *a.Timeout > float64(codemode.MaxTimeout.Milliseconds()) {
			return nil, fault.Invalid("timeout must be from 1 to %d milliseconds.", codemode.MaxTimeout.Milliseconds())
		}
		q.Timeout = time.Duration(*a.Timeout) * time.Millisecond
	}
	save, err := g.readSave(client, given)
	if err != nil {
		return nil, err
	}
	if save != nil {
		q.TraceID = codemode.NewTraceID()
	}
	outcome, err := g.Run(ctx, project, client, q)
	if err != nil {
		return nil, err
	}
	if save != nil {
		if outcome.Saved, err = g.propose(ctx, project, client, save, &q, &outcome); err != nil {
			return nil, err
		}
	}
	result, err := outcome.ToolResult(client.supportsBlock)
	if err != nil {
		return nil, fault.Internal(err)
	}
	if err := reserveResult(ctx, client, len(result)); err != nil {
		return nil, err
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
	return g.runNested(ctx, project, client, q, newNesting(client, false, q.DryRun))
}

// runNested is Run with the state that the run shares with recipes.
func (g *Gateway) runNested(ctx context.Context, project *toolset.Snapshot, client *Client, q codemode.Request, around *nesting) (codemode.Outcome, error) {
	q.Tools = toolsForCode(project)
	q.AllowFetch = project.Project.CodeModeAllowFetch
	if g.Artifacts != nil {
		q.Artifacts = &codeArtifacts{gateway: g, client: client}
	}
	q.ProjectLimit = max(codemode.MinTimeout, min(codemode.MaxTimeout, time.Duration(project.Project.CodeModeTimeoutMS)*time.Millisecond))
	q.Declarations = func() (string, error) {
		return g.Declarations.ForCode(ctx, project, q.Code)
	}
	return g.Runner.Run(ctx, q, &codeCalls{gateway: g, client: client, nesting: around})
}

// codeCalls implements codemode.Dispatcher for one run.
type codeCalls struct {
	gateway *Gateway
	client  *Client
	nesting *nesting
}

// Call calls a tool like a tools/call of the same client. It uses the client's
// present view, so tools that were disabled or withdrawn during the run are
// rejected, and it counts against the client's rate limit.
func (c *codeCalls) Call(ctx context.Context, name string, arguments []byte) ([]byte, error) {
	project, err := c.gateway.Views.Current(c.client.Principal)
	if err != nil {
		return nil, err
	}
	if err := c.nesting.admit(); err != nil {
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
	inner := &Client{Principal: c.client.Principal, Code: true, Version: versionOfCode, RequestID: c.client.RequestID, SessionID: c.client.SessionID, Memory: memory, originalOutput: true, nesting: c.nesting}
	result, err := c.gateway.callTool(ctx, project, inner, params, len(raw), &RequestInfo{})
	c.nesting.note(err)
	return result, err
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

// builtinTools is the key of the definitions of the built-in tools, derived from
// a snapshot.
type builtinTools struct{}

// builtinsOf returns the definitions of a project's built-in tools, for the end
// of tools/list. They are built once for each view.
func (g *Gateway) builtinsOf(project *toolset.Snapshot) string {
	read := ""
	if g.Artifacts != nil && project.LimitsResults() {
		read = "," + readDefinition
	}
	if !project.Project.CodeModeEnabled {
		return builtinDefinitions + read
	}
	return toolset.Derive(project, builtinTools{}, func() string { return g.codeBuiltins(project) }) + read
}

// codeBuiltins returns the definitions of the built-in tools with Code Mode.
func (g *Gateway) codeBuiltins(project *toolset.Snapshot) string {
	description := codeDescription + namespaces(project)
	if server := project.Server(toolset.GatewayAlias); server != nil && server.IsGateway {
		description += recipeDescription
	}
	var b strings.Builder
	b.WriteString(searchDefinition + "," + listStart)
	b.Write(rawjson.Quote(listDescription + sizeOf(project)))
	b.WriteString(listEnd + `,{"name":"` + ToolExecute + `","title":"Execute a tool or code","description":`)
	b.Write(rawjson.Quote(description))
	b.WriteString(`,"inputSchema":{"type":"object","properties":{` + codeProperties)
	if g.Runner.CanTypecheck() {
		b.WriteString(`,` + typecheckProperty)
	}
	b.WriteString(`},"additionalProperties":false},"annotations":{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}}`)
	return b.String()
}

// sizeOf returns a sentence with the number of tools that code can call and the
// size of their declarations, or "".
func sizeOf(project *toolset.Snapshot) string {
	tools := toolset.ForModels(project.Tools)
	if len(tools) == 0 {
		return ""
	}
	tokens := typescript.EstimatedTokens(tools)
	size := fmt.Sprintf(" All: %d tools, about %s tokens", len(tools), grouped(roundTokens(tokens)))
	if len(tools) == 1 {
		size = fmt.Sprintf(" All: 1 tool, about %s tokens", grouped(roundTokens(tokens)))
	}
	if tokens > fewTokens {
		size += "; pass query"
	}
	return size + "."
}

// roundTokens rounds a number to two digits, and to hundreds at least.
func roundTokens(n int) int {
	unit := 100
	for n/unit >= 100 {
		unit *= 10
	}
	return max(unit, (n+unit/2)/unit*unit)
}

// grouped returns a number with commas between its thousands.
func grouped(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
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
	listStart       = `{"name":"` + ToolList + `","title":"List tools as TypeScript","description":`
	listDescription = "Returns the tools of this project as TypeScript declarations, for use in code run by " + ToolExecute + ". Without arguments it returns all tools; with query, one page of matching tools. query has the same syntax as in " + ToolSearch + "."
	listEnd         = `,"inputSchema":{"type":"object","properties":{` +
		`"filter":{"type":"string","description":"Only tools with this text in their name or description. Cannot be combined with query."},` +
		`"query":{"type":"string","description":"Literal terms and qualifiers; all must match. Returns one page as JSON."},` +
		`"limit":{"type":"integer","minimum":1,"maximum":50,"description":"With query: maximum number of declarations per page. Default 20."},` +
		`"cursor":{"type":"string","description":"With query: nextCursor of the previous result of the same query."}},"additionalProperties":false},` +
		`"outputSchema":{"type":"object","properties":{"declarations":{"type":"string"},"count":{"type":"integer"},"nextCursor":{"type":["string","null"]},"warnings":{"type":"array","items":{"type":"object"}},"coverage":{"type":"object"}}},` +
		`"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}`

	codeDescription = `Calls one tool by its exact name, alias__tool, with arguments; or runs code: the body of an async TypeScript function that calls any number of tools. ` +
		`In code, each server is a namespace and each of its tools a function: const issues = await github.list_issues({owner, repo}); use brackets for names that are not identifiers: github["list-issues"]({…}). ` +
		`Get the types from ` + ToolList + `, or in code: await gateway.search(task) finds tools, await gateway.describe("alias__tool") returns the declaration of one. ` +
		`Await every call; use Promise.all for independent ones. A call returns the value itself (structured content, else text, parsed if it is JSON): no content[0].text, no JSON.parse. A failed call throws ToolError. ` +
		`There is no import, no fetch unless it is declared, no process. Filter in code and end with return: only the returned value and console.log are shown. ` +
		`To show an image or file, return its content block or the tool's result as it is. With dryRun, calls that may write are recorded but not sent.`

	recipeDescription = ` Recipes are saved code, listed as gateway__NAME: call them directly, or in code with await gateway.run("NAME", input).`

	codeProperties = `"name":{"type":"string","description":"Exact name of the tool, alias__tool. Cannot be combined with code."},` +
		`"arguments":{"type":"object","description":"With name: arguments for the tool.","additionalProperties":true},` +
		`"code":{"type":"string","maxLength":65536,"description":"TypeScript: the body of an async function. Cannot be combined with name."},` +
		`"input":{"description":"With code: any JSON value, available in code as the variable input."},` +
		`"timeout":{"type":"number","description":"With code: time limit in milliseconds, up to the project's limit."},` +
		`"dryRun":{"type":"boolean","description":"With code: record calls that may write instead of sending them. Default false."},` +
		`"save":{"type":"object","description":"With code that works and will be useful again: propose it as a recipe, a tool of this project. An administrator has to approve it.","properties":{` +
		`"name":{"type":"string","pattern":"^[a-z][a-z0-9_]{0,63}$"},"description":{"type":"string","maxLength":2000,"description":"What the recipe does and what its input is."}},"required":["name","description"],"additionalProperties":false}`

	typecheckProperty = `"typecheck":{"type":"string","enum":["off","warn","error"],"description":"With code: check types before the run. warn reports type errors and runs the code; error stops. Default warn."}`
)
