package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// writingApp returns the application and the upstream server up. Project p has
// Code Mode and the tool up__write.
func writingApp(t *testing.T) (*routestest.App, *upstreamtest.Server) {
	t.Helper()
	up := upstreamtest.New(upstreamtest.Options{Name: "up", Eras: []upstreamtest.Era{"2025-11-25"}, Tools: []upstreamtest.Tool{{
		Definition: `{"name":"write","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}},"annotations":{"readOnlyHint":false}}`,
	}}})
	app := routestest.New(t, modelstest.SQLite(t))
	app.Apply(t, fmt.Sprintf(`{"projects":{"p":{"authMode":"none","codeMode":{"enabled":true,"timeout":20000},"mcpServers":{"up":{"url":%q}}}}}`, up.Start(t)))
	app.Sync(t, "p", "up")
	return app, up
}

// callRoutes returns the ways to send tools/call with params.
func callRoutes() map[string]func(params string) webtest.Case {
	body := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
	}
	header := map[string]string{"Content-Type": "application/json"}
	return map[string]func(params string) webtest.Case{
		"tools/call": func(params string) webtest.Case {
			return webtest.Case{Method: "POST", Path: "/v1/mcp/p/request", Body: body(params), Header: header}
		},
		"batch": func(params string) webtest.Case {
			return webtest.Case{Method: "POST", Path: "/v1/mcp/p/request", Body: `[` + body(params) + `]`, Header: header}
		},
		"stateless tools/call": func(params string) webtest.Case {
			var named struct{ Name string }
			_ = json.Unmarshal([]byte(params), &named)
			params = strings.TrimSuffix(params, "}") + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
			return webtest.Case{Method: "POST", Path: "/v1/mcp/p/request", Body: body(params), Header: map[string]string{
				"Content-Type": "application/json", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": named.Name,
			}}
		},
		"bridge POST": func(params string) webtest.Case {
			return webtest.Case{Method: "POST", Path: "/v1/mcp/p/sse", Body: body(params), Header: header}
		},
		"bridge GET request": func(params string) webtest.Case {
			return webtest.Case{Method: "GET", Path: "/v1/mcp/p/sse?request=" + url.QueryEscape(body(params))}
		},
	}
}

const (
	toolExecute = "gateway_executeTool"
	toolSearch  = "gateway_searchMcpForTask"
	toolList    = "gateway_listTools"
)

// rejectedArguments returns invalid arguments of built-in tools, with the
// expected error code and message.
func rejectedArguments() []struct{ tool, arguments, code, message string } {
	const write = "return await up.write({})"
	return []struct{ tool, arguments, code, message string }{
		{toolExecute, `{"name":"up__write","args":{"text":"a"}}`, "INVALID_PARAMETER", `unknown argument "args", did you mean "arguments"?`},
		{toolExecute, `{"name":"up__write","Arguments":{"text":"a"}}`, "INVALID_PARAMETER", `unknown argument "Arguments", did you mean "arguments"?`},
		{toolExecute, `{"Name":"up__write"}`, "INVALID_PARAMETER", `unknown argument "Name", did you mean "name"?`},
		{toolExecute, `{"name":"up__write","params":{"text":"a"}}`, "INVALID_PARAMETER", `unknown argument "params": the arguments are name, arguments, `},
		{toolExecute, `{"name":"up__write","input":{"text":"a"}}`, "CONFLICTING_PARAMETERS", "input cannot be combined with name"},
		{toolExecute, `{"name":"up__write","timeout":1000}`, "CONFLICTING_PARAMETERS", "timeout cannot be combined with name"},
		{toolExecute, `{"name":"up__write","dryRun":true}`, "CONFLICTING_PARAMETERS", "dryRun cannot be combined with name"},
		{toolExecute, `{"name":"up__write","typecheck":"error"}`, "CONFLICTING_PARAMETERS", "typecheck cannot be combined with name"},
		{toolExecute, `{"name":"up__write","dry_run":true}`, "INVALID_PARAMETER", `unknown argument "dry_run", did you mean "dryRun"?`},
		{toolExecute, `{"code":"` + write + `","dry_run":true}`, "INVALID_PARAMETER", `unknown argument "dry_run", did you mean "dryRun"?`},
		{toolExecute, `{"code":"` + write + `","DryRun":true}`, "INVALID_PARAMETER", `unknown argument "DryRun", did you mean "dryRun"?`},
		{toolExecute, `{"code":"` + write + `","arguments":{}}`, "CONFLICTING_PARAMETERS", "arguments cannot be combined with code. Send input instead."},
		{toolExecute, `{"code":"` + write + `","typecheck":"error"}`, "INVALID_PARAMETER", "this gateway has no compiler"},
		{toolExecute, `{"code":"` + write + `","name":"up__write"}`, "CONFLICTING_PARAMETERS", "name and code cannot be combined"},
		{toolExecute, `{"name":null,"code":null}`, "INVALID_PARAMETER", "Send name"},
		{toolExecute, `{}`, "INVALID_PARAMETER", "Send name"},
		{toolExecute, `{"code":"` + write + `","Typecheck":"off"}`, "INVALID_PARAMETER", `unknown argument "Typecheck", did you mean "typecheck"?`},
		{toolExecute, `{"code":["` + write + `"]}`, "INVALID_PARAMETER", "code must be a string"},
		{toolExecute, `{"code":"` + write + `","dryRun":"true"}`, "INVALID_PARAMETER", "dryRun a boolean"},
		{toolExecute, `{"code":"` + write + `","timeout":"1000"}`, "INVALID_PARAMETER", "timeout a number of milliseconds"},
		{toolExecute, `{"code":"` + write + `","typecheck":true}`, "INVALID_PARAMETER", "typecheck off, warn or error"},
		{toolExecute, `{"code":"` + write + `","typecheck":"Error"}`, "INVALID_PARAMETER", "typecheck must be off, warn or error"},
		{toolExecute, `{"name":["up__write"]}`, "INVALID_PARAMETER", "name"},
		{toolExecute, `{"name":"up__write","arguments":"{}"}`, "INVALID_PARAMETER", "arguments"},
		{toolSearch, `{"task":null,"query":null}`, "INVALID_PARAMETER", "Send task"},
		{toolSearch, `{"task":["write"]}`, "INVALID_PARAMETER", "task must be a string"},
		{toolSearch, `{"task":"write","includeSchema":"true"}`, "INVALID_PARAMETER", "includeSchema must be true or false"},
		{toolSearch, `{"task":"write","limit":0}`, "INVALID_PARAMETER", "limit"},
		{toolList, `{"filter":["up"]}`, "INVALID_PARAMETER", "filter must be a string"},
		{toolList, `{"query":"up","offset":1}`, "INVALID_PARAMETER", `unknown argument "offset": the arguments are `},
		{toolSearch, `{"task":"write","top":3}`, "INVALID_PARAMETER", `unknown argument "top": the arguments are task, query, `},
		{toolSearch, `{"Task":"write"}`, "INVALID_PARAMETER", `unknown argument "Task", did you mean "task"?`},
		{toolSearch, `{"query":"write","include_schema":true}`, "INVALID_PARAMETER", `unknown argument "include_schema", did you mean "includeSchema"?`},
		{toolSearch, `{"task":"write","cursor":"x"}`, "CONFLICTING_PARAMETERS", "cursor requires query"},
		{toolList, `{"server":"up"}`, "INVALID_PARAMETER", `unknown argument "server": the arguments are filter, query, limit, cursor`},
		{toolList, `{"Query":"up"}`, "INVALID_PARAMETER", `unknown argument "Query", did you mean "query"?`},
		{toolList, `{"filter":"up","limit":3}`, "CONFLICTING_PARAMETERS", "limit and cursor require query"},
	}
}

// TestBuiltinArguments calls the built-in tools with invalid arguments by every
// route. Each call must be rejected, and nothing sent upstream.
func TestBuiltinArguments(t *testing.T) {
	app, up := writingApp(t)
	for route, request := range callRoutes() {
		t.Run(route, func(t *testing.T) {
			for _, tt := range rejectedArguments() {
				answer := webtest.Send(t, app.App, request(`{"name":"`+tt.tool+`","arguments":`+tt.arguments+`}`))
				message, err := json.Marshal(tt.message)
				if err != nil {
					t.Fatal(err)
				}
				for _, want := range []string{`"code":-32602`, `"code":"` + tt.code + `"`, strings.Trim(string(message), `"`)} {
					if !strings.Contains(answer.Body, want) {
						t.Errorf("%s %s: got %s, want %s", tt.tool, tt.arguments, answer.Body, want)
					}
				}
			}
		})
	}
	if n := up.Calls(); n != 0 {
		t.Errorf("the upstream got %d calls, want 0", n)
	}
}

// TestBuiltinArgumentsFromBridgeQuery names the tool and its arguments in the
// query of a GET.
func TestBuiltinArgumentsFromBridgeQuery(t *testing.T) {
	app, up := writingApp(t)
	for _, tt := range rejectedArguments() {
		answer := webtest.Send(t, app.App, webtest.Case{Method: "GET", Path: "/v1/mcp/p/sse?" + url.Values{"name": {tt.tool}, "arguments": {tt.arguments}}.Encode()})
		if !strings.Contains(answer.Body, `"type":"error"`) || !strings.Contains(answer.Body, `"code":"`+tt.code+`"`) {
			t.Errorf("%s %s: got %s, want %s", tt.tool, tt.arguments, answer.Body, tt.code)
		}
	}
	if n := up.Calls(); n != 0 {
		t.Errorf("the upstream got %d calls, want 0", n)
	}
}

// TestBuiltinArgumentsFromCode calls the built-in tools from code.
func TestBuiltinArgumentsFromCode(t *testing.T) {
	app, up := writingApp(t)
	for code, want := range map[string]string{
		`return await gateway.search({ task: "write", top: 3 })`:                               `unknown argument "top"`,
		`return await gateway.search({ Task: "write" })`:                                       `did you mean "task"?`,
		`return await gateway.search("write", { limit: 3 })`:                                   "gateway.search takes one argument",
		`return await gateway.call("` + toolSearch + `", { tasks: "write" })`:                  `did you mean "task"?`,
		`return await gateway.call("` + toolList + `", { Filter: "up" })`:                      `did you mean "filter"?`,
		`return await gateway.call("` + toolExecute + `", { name: "up__write", args: {} })`:    "Code can't run code",
		`return await gateway.call("up__write", {}, { dryRun: true })`:                         "gateway.call takes a tool name and one arguments object",
		`return await gateway.call("` + toolSearch + `", { task: "write", offset: null }, {})`: "gateway.call takes",
	} {
		out, _ := runCode(t, app, code, "")
		if out.OK || out.Error == nil || !strings.Contains(out.Error.Message, want) {
			t.Errorf("%s: %+v, want the error %q", code, out.Error, want)
		}
	}
	if n := up.Calls(); n != 0 {
		t.Errorf("the upstream got %d calls, want 0", n)
	}
	found, _ := runCode(t, app, `return (await Promise.all(["write"].map(gateway.search)))[0].topTool`, "")
	if string(found.Result) != `"up__write"` {
		t.Errorf("gateway.search passed to map returned %s (%+v)", found.Result, found.Error)
	}
}

// TestBuiltinNullArguments sends null where an argument is optional.
func TestBuiltinNullArguments(t *testing.T) {
	app, up := writingApp(t)
	up.ForgetRequests()
	for _, params := range []string{
		`{"name":"gateway_executeTool","arguments":{"name":"up__write","arguments":null,"code":null,"input":null,"timeout":null,"dryRun":null,"typecheck":null}}`,
		`{"name":"gateway_executeTool","arguments":{"name":null,"arguments":null,"code":"return await up.write({})","input":null,"timeout":null,"dryRun":null,"typecheck":null}}`,
		`{"name":"gateway_searchMcpForTask","arguments":{"task":"write","query":null,"server":null,"limit":null,"offset":null,"cursor":null,"includeSchema":null}}`,
		`{"name":"gateway_searchMcpForTask","arguments":{"task":null,"query":"write","server":null,"limit":null,"offset":null,"cursor":null,"includeSchema":null}}`,
		`{"name":"gateway_listTools","arguments":{"filter":null,"query":null,"limit":null,"cursor":null}}`,
		`{"name":"gateway_listTools","arguments":null,"_meta":null}`,
		`{"name":"up__write","arguments":null,"_meta":null}`,
	} {
		if a := rpc(t, app, "tools/call", params); a.Error != nil || a.Result.IsError {
			t.Errorf("%s: %+v %+v", params, a.Error, a.Result)
		}
	}
	for _, method := range []string{"tools/list", "prompts/list", "resources/list", "ping"} {
		for _, params := range []string{"null", `{"cursor":null,"_meta":null}`} {
			if a := rpc(t, app, method, params); a.Error != nil {
				t.Errorf("%s with %s: %+v", method, params, a.Error)
			}
		}
	}
	var calls []string
	for _, r := range up.Requests() {
		if r.Method == "tools/call" {
			_, params, _ := strings.Cut(string(r.Body), `"params":`)
			calls = append(calls, params)
		}
	}
	if want := []string{`{"name":"write","arguments":{}}}`, `{"name":"write","arguments":{}}}`, `{"name":"write"}}`}; !slices.Equal(calls, want) {
		t.Errorf("the upstream got %q, want %q", calls, want)
	}
}

// TestBuiltinSchemas checks that the schemas of the built-in tools allow no
// additional properties.
func TestBuiltinSchemas(t *testing.T) {
	app, _ := writingApp(t)
	declared := func() (n int) {
		answer := webtest.Send(t, app.App, webtest.Case{
			Method: "POST", Path: "/v1/mcp/p/request", Header: map[string]string{"Content-Type": "application/json"}, Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		})
		var listed struct {
			Result struct {
				Tools []struct {
					Name        string
					InputSchema struct{ AdditionalProperties *bool }
				}
			}
		}
		if err := json.Unmarshal([]byte(answer.Body), &listed); err != nil {
			t.Fatal(err)
		}
		for _, tool := range listed.Result.Tools {
			if !strings.HasPrefix(tool.Name, "gateway_") {
				continue
			}
			n++
			if more := tool.InputSchema.AdditionalProperties; more == nil || *more {
				t.Errorf("%s does not declare additionalProperties false", tool.Name)
			}
		}
		return n
	}
	if n := declared(); n != 3 {
		t.Errorf("%d built-in tools are listed with Code Mode, want 3", n)
	}
	app.Apply(t, `{"projects":{"p":{"codeMode":{"enabled":false}}}}`)
	if n := declared(); n != 2 {
		t.Errorf("%d built-in tools are listed without Code Mode, want 2", n)
	}
}
