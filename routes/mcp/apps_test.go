package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

const (
	appPage = `{"contents":[{"uri":"ui://stats/view.html","mimeType":"text/html;profile=mcp-app","text":"<p>1 < 2 \u0026 ui://stats/view.html</p>","_meta":{"ui":{"csp":{"connectDomains":["https://api.example.com"]},"permissions":{"camera":{}},"domain":"stats.example.com"}}}]}`
	appTool = `{"name":"show","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://stats/view.html"},"com.example/n":9007199254740993}}`
	// pollTool is the tool that only the app may call.
	pollTool = `{"name":"poll","description":"Polls the zebra statistics.","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://stats/view.html","visibility":["app"]}}}`
)

// appServer returns a server with an app. Its tools return their own name.
func appServer(name string) *upstreamtest.Server {
	o := upstreamtest.Options{Name: name, Answer: upstreamtest.AnswerJSON, Capabilities: `{"tools":{},"resources":{}}`, Methods: map[string]upstreamtest.Handler{
		"resources/list": func(context.Context, *upstreamtest.Call) upstreamtest.Result {
			return upstreamtest.JSON(`{"resources":[{"uri":"ui://stats/view.html","name":"view"}]}`)
		},
		"resources/read": func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON(appPage) },
	}}
	for _, definition := range []string{
		appTool, pollTool, `{"name":"refresh","inputSchema":{"type":"object"}}`, `{"name":"drop","inputSchema":{"type":"object"}}`,
		`{"name":"think","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["model"]}}}`,
	} {
		o.Tools = append(o.Tools, upstreamtest.Tool{Definition: definition, Call: ownName(name)})
	}
	return upstreamtest.New(o)
}

func ownName(server string) func(context.Context, *upstreamtest.Call) upstreamtest.Result {
	return func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
		return upstreamtest.JSON(fmt.Sprintf(`{"content":[{"type":"text","text":"%s of %s"}]}`, c.Name, server))
	}
}

// apps is a server with project p, which has one app, and project q, which has
// two of it.
type apps struct {
	*server
	stats, twin *upstreamtest.Server
}

func newApps(t *testing.T, dsn string) *apps {
	t.Helper()
	a := &apps{stats: appServer("stats"), twin: appServer("twin")}
	notes := upstreamtest.New(upstreamtest.Options{Tools: []upstreamtest.Tool{
		{Definition: `{"name":"poll","inputSchema":{"type":"object"}}`, Call: ownName("notes")}, {Definition: `{"name":"lone","inputSchema":{"type":"object"}}`, Call: ownName("notes")},
	}})
	stats, twin := a.stats.Start(t), a.twin.Start(t)
	a.server = serveOn(t, dsn, fmt.Sprintf(`{"projects":{
		"p":{"authMode":"none","codeMode":{"enabled":true,"timeout":20000},"mcpServers":{"stats":{"url":%q,"denyTools":["drop"]},"notes":{"url":%q}}},
		"q":{"authMode":"api_key","mcpServers":{"a":{"url":%q},"b":{"url":%q}},"toolsets":{"first":{"include":["a__*"]}},"limits":[{"per":"project","match":"a__refresh","perDay":1}]}}}`,
		stats, notes.Start(t), stats, twin), nil)
	a.Sync(t, "p", "stats", "notes")
	a.Sync(t, "q", "a", "b")
	return a
}

// rpc sends a request to an endpoint in one of the eras and returns its response.
func (a *apps) rpc(t *testing.T, endpoint, key, version, method, params string) string {
	t.Helper()
	c := webtest.Case{Path: "/v1/mcp/" + endpoint + "/request", Header: map[string]string{"MCP-Protocol-Version": version}}
	if key != "" {
		c.Header["Authorization"] = "Bearer " + key
	}
	if version == "2026-07-28" {
		var named struct{ Name, URI string }
		if err := json.Unmarshal([]byte(params), &named); err != nil {
			t.Fatal(err)
		}
		c.Header["Mcp-Method"], c.Header["Mcp-Name"] = method, named.Name+named.URI
		params = strings.Replace(params, "{", "{"+statelessMeta+",", 1)
		params = strings.Replace(params, ",}", "}", 1)
	}
	c.Body = `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	return webtest.Send(t, a.App.App, c).Body
}

func (a *apps) call(t *testing.T, endpoint, key, version, name string) string {
	t.Helper()
	return a.rpc(t, endpoint, key, version, "tools/call", `{"name":"`+name+`","arguments":{}}`)
}

// appError is the error of a call.
type appError struct {
	Error struct {
		Code int
		Data struct {
			Code   string
			Fields struct{ Candidates []string }
		}
	}
}

// wantError checks the error of a call in an era: number is that of a handshake
// client.
func wantError(t *testing.T, version, body string, number int, code string, candidates ...string) {
	t.Helper()
	if version == "2026-07-28" {
		number = -32602
	}
	var e appError
	if err := json.Unmarshal([]byte(body), &e); err != nil || e.Error.Code != number || e.Error.Data.Code != code || !slices.Equal(e.Error.Data.Fields.Candidates, candidates) {
		t.Errorf("%s: got %s, want %d %s %v", version, body, number, code, candidates)
	}
}

var bothEras = []string{"2025-11-25", "2026-07-28"}

// TestAppCall calls tools by the names that apps send: without alias.
func TestAppCall(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a := newApps(t, dsn)
		for _, version := range bothEras {
			for _, name := range []string{"poll", "refresh", "show"} {
				if body := a.call(t, "p", "", version, name); !strings.Contains(body, name+" of stats") {
					t.Errorf("%s: %s: %s", version, name, body)
				}
			}
			sent := a.stats.Calls() + a.twin.Calls()
			for _, name := range []string{"lone", "think", "drop", "never", "notes__show", "stats__", "Poll"} {
				wantError(t, version, a.call(t, "p", "", version, name), -32002, "TOOL_NOT_FOUND")
			}
			body := a.rpc(t, "p", "", version, "tools/call", `{"name":"gateway_executeTool","arguments":{"name":"refresh"}}`)
			wantError(t, version, body, -32002, "TOOL_NOT_FOUND")
			if n := a.stats.Calls() + a.twin.Calls(); n != sent {
				t.Errorf("%s: %d refused calls were sent", version, n-sent)
			}
		}
		a.checkTransports(t)
		a.checkAppLog(t)
		a.checkAmbiguous(t)
		a.Apply(t, `{"projects":{"p":{"mcpServers":{"stats":{"enabled":false}}}}}`)
		wantError(t, "2025-11-25", a.call(t, "p", "", "2025-11-25", "poll"), -32002, "TOOL_NOT_FOUND")
	})
}

// checkTransports calls the tool in a batch and over HTTP+SSE.
func (a *apps) checkTransports(t *testing.T) {
	t.Helper()
	const poll = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"poll","arguments":{}}}`
	if _, _, body := a.get(t, request{body: "[" + poll + "," + poll + "]"}); strings.Count(body, "poll of stats") != 2 {
		t.Errorf("batch: %s", body)
	}
	stream, path := a.openPosted(t)
	defer stream.close()
	a.post(t, path, poll, 202)
	if got := stream.next(); !strings.Contains(got, "poll of stats") {
		t.Errorf("HTTP+SSE: %s", got)
	}
}

// checkAppLog checks that calls are stored with the full name.
func (a *apps) checkAppLog(t *testing.T) {
	t.Helper()
	routestest.Eventually(t, "the calls are stored", func() bool {
		var calls []models.Call
		noError(t, a.Services.DB.Find(&calls, "tool = ? AND server = ? AND outcome = ?", "stats__poll", "stats", models.CallOK).Error)
		return len(calls) >= 5
	})
}

func (a *apps) checkAmbiguous(t *testing.T) {
	t.Helper()
	_, key := a.Key(t, "q", 0)
	for _, version := range bothEras {
		sent := a.stats.Calls() + a.twin.Calls()
		wantError(t, version, a.call(t, "q", key, version, "poll"), -32002, "TOOL_AMBIGUOUS", "a__poll", "b__poll")
		if n := a.stats.Calls() + a.twin.Calls(); n != sent {
			t.Errorf("%s: an ambiguous call was sent", version)
		}
		if body := a.call(t, "q", key, version, "b__poll"); !strings.Contains(body, "poll of twin") {
			t.Errorf("%s: the full name: %s", version, body)
		}
		// The toolset has one of them, and no sign of the other.
		if body := a.call(t, "q/toolsets/first", key, version, "poll"); !strings.Contains(body, "poll of stats") {
			t.Errorf("%s: at the toolset: %s", version, body)
		}
	}
	if body := a.call(t, "q/toolsets/first", key, "2025-11-25", "refresh"); !strings.Contains(body, "refresh of stats") {
		t.Errorf("the first call: %s", body)
	}
	if body := a.call(t, "q/toolsets/first", key, "2025-11-25", "refresh"); !strings.Contains(body, "RATE_LIMITED") {
		t.Errorf("the second call exceeds the limit: %s", body)
	}
}

// TestVisibility checks that tools/list has the tools of apps unchanged, that
// models get no sign of those that only apps may call, and that apps are forwarded
// untouched.
func TestVisibility(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a := newApps(t, dsn)
		for _, version := range bothEras {
			list := a.rpc(t, "p", "", version, "tools/list", `{}`)
			for _, definition := range []string{appTool, pollTool} {
				if !strings.Contains(list, strings.Replace(definition, `"name":"`, `"name":"stats__`, 1)) {
					t.Errorf("%s: the list lacks %s: %s", version, definition, list)
				}
			}
			if body := a.rpc(t, "p", "", version, "resources/read", `{"uri":"ui://stats/view.html"}`); !strings.Contains(body, strings.TrimSuffix(strings.TrimPrefix(appPage, "{"), "}")) {
				t.Errorf("%s: the app is %s", version, body)
			}
			a.checkForModels(t, version)
		}
		a.checkCodeTools(t)
		a.Apply(t, `{"projects":{"p":{"toolExposure":"builtin"}}}`)
		for _, version := range bothEras {
			if list := a.rpc(t, "p", "", version, "tools/list", `{}`); strings.Contains(list, "ui://") || !strings.Contains(list, "gateway_executeTool") {
				t.Errorf("%s: built-in tools only: %s", version, list)
			}
		}
	})
}

// checkForModels checks the built-in tools.
func (a *apps) checkForModels(t *testing.T, version string) {
	t.Helper()
	builtin := func(name, arguments string) string {
		return a.rpc(t, "p", "", version, "tools/call", `{"name":"gateway_`+name+`","arguments":`+arguments+`}`)
	}
	for _, arguments := range []string{`{"task":"poll the zebra statistics","limit":20}`, `{"query":"zebra"}`, `{"query":"server:stats"}`} {
		body := builtin("searchMcpForTask", arguments)
		if strings.Contains(body, "stats__poll") || strings.Contains(body, "TOOL_HIDDEN") && strings.Contains(arguments, "zebra") || strings.Contains(body, `"error"`) {
			t.Errorf("%s: search %s: %s", version, arguments, body)
		}
	}
	if body := builtin("searchMcpForTask", `{"query":"server:stats"}`); !strings.Contains(body, "stats__refresh") {
		t.Errorf("%s: search: %s", version, body)
	}
	for _, arguments := range []string{`{}`, `{"filter":"stats"}`, `{"query":"server:stats"}`} {
		if body := builtin("listTools", arguments); strings.Contains(body, "zebra") || !strings.Contains(body, "refresh") {
			t.Errorf("%s: declarations %s: %s", version, arguments, body)
		}
	}
	sent := a.stats.Calls()
	wantError(t, version, builtin("executeTool", `{"name":"stats__poll"}`), -32003, "TOOL_DISABLED")
	if n := a.stats.Calls(); n != sent {
		t.Errorf("%s: the call was sent", version)
	}
	if body := builtin("executeTool", `{"name":"stats__refresh"}`); !strings.Contains(body, "refresh of stats") {
		t.Errorf("%s: executeTool: %s", version, body)
	}
	if body := a.call(t, "p", "", version, "stats__poll"); !strings.Contains(body, "poll of stats") {
		t.Errorf("%s: the app's call by its full name: %s", version, body)
	}
}

// checkCodeTools checks that code can't call the tool.
func (a *apps) checkCodeTools(t *testing.T) {
	t.Helper()
	sent := a.stats.Calls()
	for _, code := range []string{`return await stats.poll({})`, `return await stats["po" + "ll"]({})`, `return await gateway.call("stats__poll", {})`, `return await gateway.call("poll", {})`} {
		if out, _ := runCode(t, a.App, code, ""); out.OK || strings.Contains(string(out.Result), "poll of stats") {
			t.Errorf("%s: %+v", code, out)
		}
	}
	if n := a.stats.Calls(); n != sent {
		t.Errorf("%d calls were sent", n-sent)
	}
	if out, _ := runCode(t, a.App, `return Object.keys(stats)`, ""); strings.Contains(string(out.Result), "poll") {
		t.Errorf("the namespace has %s", out.Result)
	}
}

// names returns the members name of a list.
func (a *apps) names(t *testing.T, version, method string) (names []string) {
	t.Helper()
	var list struct{ Result map[string]json.RawMessage }
	var items []struct{ Name string }
	body := a.rpc(t, "p", "", version, method, `{}`)
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(list.Result[strings.TrimSuffix(method, "/list")], &items); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, item := range items {
		if !strings.HasPrefix(item.Name, "gateway_") {
			names = append(names, item.Name)
		}
	}
	return names
}

// TestBareToolNames lists names without alias, and calls tools by them.
func TestBareToolNames(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a := newApps(t, dsn)
		session := a.session(t)
		stream := a.stream(t, request{header: streamHeader(session)})
		defer stream.close()
		a.Apply(t, `{"projects":{"p":{"toolNames":"bare"}}}`)
		stream.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		for _, version := range bothEras {
			if got, want := a.names(t, version, "tools/list"), []string{"notes__poll", "lone", "show", "stats__poll", "refresh", "think"}; !slices.Equal(got, want) {
				t.Errorf("%s: listed %v, want %v", version, got, want)
			}
			for name, answer := range map[string]string{
				"lone": "lone of notes", "notes__lone": "lone of notes", "think": "think of stats", "stats__poll": "poll of stats", "notes__poll": "poll of notes",
				"poll": "poll of stats", // of the only app that has it
			} {
				if body := a.call(t, "p", "", version, name); !strings.Contains(body, answer) {
					t.Errorf("%s: %s: %s", version, name, body)
				}
			}
			wantError(t, version, a.call(t, "p", "", version, "drop"), -32002, "TOOL_NOT_FOUND")
			for tool, want := range map[string]string{
				`{"name":"gateway_searchMcpForTask","arguments":{"query":"name:lone"}}`:     `notes__lone`,
				`{"name":"gateway_executeTool","arguments":{"name":"lone"}}`:                `lone of notes`,
				`{"name":"gateway_executeTool","arguments":{"name":"notes__lone"}}`:         `lone of notes`,
				`{"name":"gateway_listTools","arguments":{"filter":"lone"}}`:                `declare const notes`,
				`{"name":"gateway_executeTool","arguments":{"code":"return notes.lone()"}}`: `lone of notes`,
			} {
				if body := a.rpc(t, "p", "", version, "tools/call", tool); !strings.Contains(body, want) {
					t.Errorf("%s: %s: %s", version, tool, body)
				}
			}
		}
		// A name that another server has no longer gets its alias.
		a.Apply(t, `{"projects":{"p":{"disabledTools":["notes__poll"]}}}`)
		stream.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		if got := a.names(t, "2025-11-25", "tools/list"); !slices.Equal(got, []string{"lone", "show", "poll", "refresh", "think"}) {
			t.Errorf("without the other one: %v", got)
		}
		routestest.Eventually(t, "calls are stored with the full name", func() bool {
			var n int64
			noError(t, a.Services.DB.Model(&models.Call{}).Where("tool = ?", "notes__lone").Count(&n).Error)
			return n >= 8
		})
	})
}
