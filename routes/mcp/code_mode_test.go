package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcpgateway/cmd/gateway/demo"
	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/activity"
	"mcpgateway/services/codemode"
	"mcpgateway/services/typescript"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// codeApp returns the application with the two demo servers in a project with
// Code Mode. One tool is denied.
func codeApp(t *testing.T, settings string) *routestest.App {
	t.Helper()
	clock, text := upstreamtest.New(demo.Servers()[0]), upstreamtest.New(demo.Servers()[1])
	app := routestest.New(t, modelstest.SQLite(t))
	app.Apply(t, fmt.Sprintf(`{"projects":{"p":{"authMode":"none","codeMode":{"enabled":true,"timeout":10000},%s
		"mcpServers":{"clock":{"url":%q},"my-text":{"url":%q,"denyTools":["hash_*"]}}}}}`, settings, clock.Start(t), text.Start(t)))
	app.Sync(t, "p", "clock", "my-text")
	return app
}

type toolAnswer struct {
	Result struct {
		Content    []struct{ Type, Text string }
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool
		Tools      []struct {
			Name        string
			Description string
		}
	}
	Error *struct {
		Code    int
		Message string
		Data    struct{ Code string }
	}
}

// rpc sends one JSON-RPC request.
func rpc(t *testing.T, app *routestest.App, method, params string) (a toolAnswer) {
	t.Helper()
	answer := webtest.Send(t, app.App, webtest.Case{
		Method: "POST", Path: "/v1/mcp/p/request", Header: map[string]string{"Content-Type": "application/json", "MCP-Protocol-Version": "2025-11-25"},
		Body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params),
	})
	if err := json.Unmarshal([]byte(answer.Body), &a); err != nil || answer.Status != 200 {
		t.Fatalf("%s %s: %d %s", method, params, answer.Status, answer.Body)
	}
	return a
}

func runCode(t *testing.T, app *routestest.App, code, more string) (codemode.Outcome, toolAnswer) {
	t.Helper()
	quoted, err := json.Marshal(code)
	if err != nil {
		t.Fatal(err)
	}
	a := rpc(t, app, "tools/call", fmt.Sprintf(`{"name":"gateway_executeTool","arguments":{"code":%s%s}}`, quoted, more))
	var out codemode.Outcome
	if a.Error == nil {
		if err := json.Unmarshal(a.Result.Structured, &out); err != nil {
			t.Fatalf("%s: %v", a.Result.Structured, err)
		}
	}
	return out, a
}

// TestCodeModeConversation acts like a client: it finds tools, reads their
// declarations, and runs code that calls three tools of two servers.
func TestCodeModeConversation(t *testing.T) {
	app := codeApp(t, "")
	listed := rpc(t, app, "tools/list", "{}")
	var names []string
	for _, tool := range listed.Result.Tools {
		names = append(names, tool.Name)
		if tool.Name == "gateway_executeTool" && (!strings.Contains(tool.Description, typescript.Identifier("my-text")) || len(tool.Description) > 1536+300) {
			t.Errorf("the description is %q", tool.Description)
		}
	}
	if !strings.HasSuffix(strings.Join(names, " "), "gateway_searchMcpForTask gateway_listTools gateway_executeTool") {
		t.Errorf("listed are %q", names)
	}
	found := rpc(t, app, "tools/call", `{"name":"gateway_searchMcpForTask","arguments":{"task":"days between two dates"}}`)
	if !strings.Contains(found.Result.Content[0].Text, "clock__days_between") {
		t.Errorf("found %s", found.Result.Content[0].Text)
	}
	page := rpc(t, app, "tools/call", `{"name":"gateway_listTools","arguments":{"query":"server:clock between"}}`)
	if text := page.Result.Content[0].Text; !strings.Contains(text, "days_between") || !strings.Contains(text, `"nextCursor":null`) || strings.Contains(text, "base64") {
		t.Errorf("the page is %s", text)
	}
	whole := rpc(t, app, "tools/call", `{"name":"gateway_listTools","arguments":{}}`).Result.Content[0].Text
	if !strings.Contains(whole, "declare const clock") || strings.Contains(whole, "hash_text") {
		t.Errorf("the declarations are %s", whole)
	}

	ns := typescript.Identifier("my-text")
	out, answer := runCode(t, app, `
		const [days, upper] = await Promise.all([
			clock.days_between({ start: "2026-01-01", end: "2026-03-01" }),
			`+ns+`.change_case({ text: "days", case: "upper" }),
		]);
		const encoded = await `+ns+`.base64({ text: String(input.mark), direction: "encode" });
		console.log("three calls");
		return { days, upper, encoded };`, `,"input":{"mark":"x"}`)
	if !out.OK || answer.Result.IsError || len(out.Calls) != 3 || len(out.Logs) != 1 {
		t.Fatalf("got %+v", out)
	}
	if got := string(out.Result); !strings.Contains(got, "59") || !strings.Contains(got, "DAYS") || !strings.Contains(got, "eA==") {
		t.Errorf("the result is %s", got)
	}
	// Inner calls are logged in addition to the outer one.
	project, err := app.Services.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	routestest.Eventually(t, "the calls are in the log", func() bool {
		calls, _, err := app.Services.Calls.List(t.Context(), activity.CallFilter{ProjectID: project.Project.ID, Outcome: models.CallOK}, "", 100)
		if err != nil {
			t.Fatal(err)
		}
		inner := 0
		for _, call := range calls {
			if call.Server != "" {
				inner++
			}
		}
		return inner == 3
	})
}

// TestCodeResultStructured checks that clients of every protocol version receive
// the outcome as structured content.
func TestCodeResultStructured(t *testing.T) {
	app := codeApp(t, "")
	const params = `"name":"gateway_executeTool","arguments":{"code":"return 7"}`
	for _, version := range []string{"", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		header := map[string]string{"Content-Type": "application/json"}
		if version != "" {
			header["MCP-Protocol-Version"] = version
		}
		meta := ""
		if version == "2026-07-28" {
			header["Mcp-Method"], header["Mcp-Name"] = "tools/call", "gateway_executeTool"
			meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		}
		answer := webtest.Send(t, app.App, webtest.Case{
			Method: "POST", Path: "/v1/mcp/p/request", Header: header, Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + params + meta + `}}`,
		})
		var a toolAnswer
		if err := json.Unmarshal([]byte(answer.Body), &a); err != nil {
			t.Fatal(err)
		}
		var out codemode.Outcome
		if err := json.Unmarshal(a.Result.Structured, &out); err != nil || !out.OK || string(out.Result) != "7" {
			t.Errorf("revision %q: %s", version, answer.Body)
		}
	}
}

// TestPolicyParity checks that code can't call tools that tools/call rejects.
func TestPolicyParity(t *testing.T) {
	app := codeApp(t, `"disabledTools":["clock__current_time"],`)
	ns := typescript.Identifier("my-text")
	for name, code := range map[string]string{
		"denied by filter": `return await ` + ns + `.hash_text({ text: "a" })`,
		"denied, by name":  `return await gateway.call("my-text__hash_text", { text: "a" })`,
		"disabled":         `return await gateway.call("clock__current_time", { zone: "UTC" })`,
		"unknown server":   `return await gateway.call("unknown__x", {})`,
		"itself":           `return await gateway.call("gateway_executeTool", { code: "return 1" })`,
	} {
		out, _ := runCode(t, app, code, "")
		if out.OK {
			t.Errorf("%s: %+v", name, out)
		}
	}
	limited := codeApp(t, `"rateLimit":{"perSecond":0.001,"burst":5},`)
	out, _ := runCode(t, limited, `for (let i = 0; i < 20; i++) await clock.days_between({ start: "2026-01-01", end: "2026-03-01" }); return "all"`, "")
	if out.OK || out.Error == nil || len(out.Calls) != 5 || !out.Calls[3].OK || out.Calls[4].OK {
		t.Errorf("beyond the rate limit: %+v", out)
	}
}

func TestCodeArguments(t *testing.T) {
	app := codeApp(t, "")
	for arguments, want := range map[string]int{
		`{"name":"gateway_executeTool"}`: -32002, `{"name":"gateway_listTools"}`: -32002, `{"name":"gateway_searchMcpForTask","arguments":{"task":"time"}}`: -32002,
		`{}`: -32602, `{"code":"return 1","name":"clock__current_time"}`: -32602, `{"code":7}`: -32602, `{"code":""}`: -32602,
		`{"code":"return 1","timeout":0}`: -32602, `{"code":"return 1","timeout":10001}`: -32602, `{"code":"return 1","timeout":"1"}`: -32602,
		`{"code":"return 1","typecheck":"maybe"}`: -32602, `{"code":"return 1","dryRun":1}`: -32602,
		`{"code":"return 1","timeout":10000}`: 0, `{"code":"return 1","timeout":1000}`: 0,
	} {
		a := rpc(t, app, "tools/call", `{"name":"gateway_executeTool","arguments":`+arguments+`}`)
		code := 0
		if a.Error != nil {
			code = a.Error.Code
		}
		if code != want {
			t.Errorf("%s: %d, want %d", arguments, code, want)
		}
	}
	app.Apply(t, `{"projects":{"p":{"codeMode":{"enabled":false}}}}`)
	for _, call := range []string{`{"name":"gateway_executeTool","arguments":{"code":"return 1"}}`, `{"name":"gateway_listTools","arguments":{}}`} {
		if a := rpc(t, app, "tools/call", call); a.Error == nil || a.Error.Code != -32003 || a.Error.Data.Code != "CODE_MODE_DISABLED" {
			t.Errorf("%s while Code Mode is off: %+v", call, a)
		}
	}
	if a := rpc(t, app, "tools/call", `{"name":"gateway_executeTool","arguments":{"name":"my-text__base64","arguments":{"text":"x","direction":"encode"}}}`); a.Error != nil || a.Result.IsError {
		t.Errorf("a call by name while Code Mode is off: %+v", a)
	}
}

// TestBridgeStreamsCodeProgress checks the events of a run on the SSE bridge.
func TestBridgeStreamsCodeProgress(t *testing.T) {
	app := codeApp(t, "")
	answer := webtest.Send(t, app.App, webtest.Case{
		Method: "POST", Path: "/v1/mcp/p/sse", Header: map[string]string{"Content-Type": "application/json", "Accept": "text/event-stream"},
		Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gateway_executeTool","arguments":{"code":"await clock.days_between({start:'2026-01-01',end:'2026-03-01'}); console.info('half'); return 1"}}}`,
	})
	events := strings.Split(strings.TrimSpace(answer.Body), "\n\n")
	if len(events) < 4 || events[len(events)-1] != "data: [DONE]" || !strings.HasPrefix(events[len(events)-2], `data: {"type":"result"`) {
		t.Fatalf("got events %q", events)
	}
	progress := strings.Join(events[:len(events)-2], "\n")
	for _, want := range []string{`"type":"progress"`, "clock__days_between", "half"} {
		if !strings.Contains(progress, want) {
			t.Errorf("no %q in %s", want, progress)
		}
	}
}
