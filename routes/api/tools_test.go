package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/declaration"
	"mcpgateway/services/projects"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// applyTo applies a declarative file and returns the result.
func applyTo(t *testing.T, a *routestest.App, file string) (projects.Plan, error) {
	t.Helper()
	d, err := declaration.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return a.Services.Projects.Apply(t.Context(), d, projects.ApplyOptions{})
}

type toolRecord struct {
	Name, Server, UpstreamName, Reason, DefinitionHash string
	Enabled                                            bool
	Definition                                         json.RawMessage
}

func tool(name, more string) upstreamtest.Tool {
	t := upstreamtest.Echo()
	t.Definition = fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}%s}`, name, more)
	return t
}

func TestDisableAndEnableTool(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		a.project(t, "p", "none", "")
		before := a.listedTools(t, "p", "")
		for range 2 {
			var record toolRecord
			a.admin(t, "PATCH", "/api/projects/p/tools/up__echo", `{"enabled":false}`, 200, &record)
			if record.Name != "up__echo" || record.Enabled || !strings.Contains(record.Reason, "disabled by an administrator") || record.Server != "up" || record.UpstreamName != "echo" {
				t.Errorf("response %+v", record)
			}
			answer := a.callEcho(t, "p", "", "up__echo")
			webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"code":-32003`, `"code":"TOOL_DISABLED"`}}, answer)
			if got := a.listedTools(t, "p", ""); got == before || strings.Contains(got, "up__echo") {
				t.Errorf("listed %s", got)
			}
			if a.up.Calls() != 0 {
				t.Error("call reached the upstream")
			}
		}
		a.admin(t, "PATCH", "/api/projects/p/tools/up__echo", `{"enabled":true}`, 200, nil)
		if answer := a.callEcho(t, "p", "", "up__echo"); answer.Status != 200 || errorCode(t, answer) != 0 || a.listedTools(t, "p", "") != before {
			t.Errorf("enabled again: %s", answer.Body)
		}
		for body, status := range map[string]int{"": 422, "{}": 422, `{"enabled":null}`: 422, `{"enabled":"no"}`: 422, `{"Enabled":false}`: 422, `{"enabled":false,"color":1}`: 422, "[]": 422} {
			a.admin(t, "PATCH", "/api/projects/p/tools/up__echo", body, status, nil)
		}
		for _, path := range []string{"/api/projects/p/tools/up__nothing", "/api/projects/p/tools/echo", "/api/projects/zzz/tools/up__echo", "/api/projects/p/tools/UP__echo"} {
			a.admin(t, "PATCH", path, `{"enabled":false}`, 404, nil)
		}
		if got := a.listedTools(t, "p", ""); got != before {
			t.Errorf("rejected changes had an effect: %s", got)
		}
	})
}

func TestToolNamesInPath(t *testing.T) {
	a := onSQLite(t)
	a.up.SetTools(tool("dir/read file", ""), tool("ü%2F", ""))
	a.project(t, "p", "none", "")
	for path, name := range map[string]string{"up__dir%2Fread%20file": "up__dir/read file", "up__%C3%BC%252F": "up__ü%2F"} {
		var record toolRecord
		a.admin(t, "PATCH", "/api/projects/p/tools/"+path, `{"enabled":false}`, 200, &record)
		if record.Name != name || record.Enabled {
			t.Errorf("%s: response %+v", path, record)
		}
	}
}

func TestToolListContainsHiddenTools(t *testing.T) {
	a := onSQLite(t)
	a.up.SetTools(tool("a", ""), tool("del_b", `,"x":1.0`), tool("c", ""))
	a.project(t, "p", "none", `,"denyTools":["del_*"]`)
	a.admin(t, "PATCH", "/api/projects/p/tools/up__c", `{"enabled":false}`, 200, nil)
	var list struct {
		Items []toolRecord
		Count int
	}
	a.admin(t, "GET", "/api/projects/p/tools", "", 200, &list)
	if list.Count != 3 {
		t.Fatalf("%d tools", list.Count)
	}
	for i, want := range []struct {
		name, reason string
		enabled      bool
	}{{"up__a", "", true}, {"up__del_b", "filter", false}, {"up__c", "disabled by an administrator", false}} {
		got := list.Items[i]
		if got.Name != want.name || got.Enabled != want.enabled || !strings.Contains(got.Reason, want.reason) || (want.reason == "") != (got.Reason == "") || len(got.DefinitionHash) != 64 {
			t.Errorf("tool %d = %+v", i, got)
		}
	}
	if d := cmp.Diff(`{"name":"up__del_b","inputSchema":{"type":"object"},"x":1.0}`, string(list.Items[1].Definition)); d != "" {
		t.Errorf("definition (-want +got):\n%s", d)
	}
}

func TestDefinitionPinning(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		a.up.SetTools(tool("a", ""), tool("b", ""))
		a.project(t, "p", "none", `,"definitionPolicy":"approve"`)
		state := func() string {
			t.Helper()
			var words []string
			for _, name := range []string{"a", "b", "c"} {
				words = append(words, fmt.Sprint(name, errorCode(t, a.callEcho(t, "p", "", "up__"+name))))
			}
			return strings.Join(words, " ") + " listed " + a.listedTools(t, "p", "")
		}
		want := func(step, want string) {
			t.Helper()
			if got := state(); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s, want %s", step, got, want)
			}
		}
		approve := func(name, approved string) {
			t.Helper()
			a.admin(t, "PATCH", "/api/projects/p/tools/"+name, `{"approved":`+approved+`}`, 200, nil)
		}
		want("new tools", "a-32003 b-32003 c-32002 listed ")
		if got := a.listedTools(t, "p", ""); strings.Contains(got, "up__") {
			t.Errorf("new tools are listed: %s", got)
		}
		approve("up__a", "true")
		approve("up__b", "true")
		want("approved", "a0 b0 c-32002 listed up__a up__b")
		a.up.SetTools(tool("a", ""), tool("b", `,"description":"now it sends mail"`), tool("c", ""))
		a.Sync(t, "p", "up")
		want("changed and added", "a0 b-32003 c-32003 listed up__a")
		approve("up__b", "true")
		want("the change approved", "a0 b0 c-32003 listed up__a up__b")
		approve("up__a", "false")
		want("withdrawn", "a-32003 b0 c-32003 listed up__b")
		a.up.SetTools(tool("a", ""), tool("b", ""), tool("c", ""))
		a.Sync(t, "p", "up")
		want("changed back", "a-32003 b-32003 c-32003 listed ")
		a.Apply(t, `{"projects":{"p":{"mcpServers":{"up":{"definitionPolicy":"follow"}}}}}`)
		want("without approval", "a0 b0 c0 listed up__a up__b up__c")
	})
}

func TestSyncAPI(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		a.up.SetTools(tool("a", ""), tool("b", ""), tool("c", ""))
		a.project(t, "p", "none", "")
		id := a.ServerID(t, "p", "up")
		a.up.SetTools(tool("c", ""), tool("new", ""), tool("b", `,"title":"B"`), tool("", ""))
		type syncAnswer struct {
			Server struct {
				ID, Alias, ProjectSlug string
				LastSync               *struct {
					OK            bool
					Code, Message string
				}
			}
			Tools struct {
				Added, Changed, Removed []string
				Total                   int
			}
			DurationMS *int64
			Warnings   []string
		}
		var got syncAnswer
		answer := a.admin(t, "POST", "/api/servers/"+id+"/sync", "", 200, &got)
		if fmt.Sprint(got.Tools) != "{[new] [b] [a] 3}" || got.Server.ID != id || got.Server.Alias != "up" || got.Server.ProjectSlug != "p" || got.DurationMS == nil || len(got.Warnings) != 1 ||
			got.Server.LastSync == nil || !got.Server.LastSync.OK {
			t.Errorf("response %s", answer.Body)
		}
		if names := a.listedTools(t, "p", ""); !strings.HasPrefix(names, "up__c up__new up__b") {
			t.Errorf("listed %s", names)
		}
		answer = a.admin(t, "POST", "/api/servers/"+id+"/sync", "{}", 200, nil)
		for _, member := range []string{`"added":[]`, `"changed":[]`, `"removed":[]`, `"total":3`} {
			if !strings.Contains(answer.Body, member) {
				t.Errorf("sync without changes lacks %s: %s", member, answer.Body)
			}
		}
		before := a.listedTools(t, "p", "")
		for kind, code := range map[upstreamtest.FaultKind]string{upstreamtest.Status: "UPSTREAM_UNAVAILABLE", upstreamtest.HTML: "UPSTREAM_INVALID_RESPONSE"} {
			a.up.SetFault(upstreamtest.Fault{On: upstreamtest.OnList, Kind: kind, Status: map[bool]int{true: http.StatusServiceUnavailable}[kind == upstreamtest.Status]})
			failed := a.admin(t, "POST", "/api/servers/"+id+"/sync", "", 502, nil)
			webtest.Check(t, webtest.Case{WantBody: []string{`"code":"` + code + `"`, `"restart":false`, `"requestId":"`}}, failed)
			if names := a.listedTools(t, "p", ""); names != before {
				t.Errorf("after a failed sync: %s", names)
			}
			var server struct {
				LastSync struct {
					OK            bool
					Code, Message string
					SyncedAt      *string
				}
				Health struct {
					State, Code, Reason string
					ConsecutiveFailures int
					Since, NextProbeAt  *string
				}
			}
			a.admin(t, "GET", "/api/servers/"+id, "", 200, &server)
			if server.LastSync.OK || server.LastSync.Code != code || server.LastSync.Message == "" || server.LastSync.SyncedAt == nil {
				t.Errorf("recorded %+v", server.LastSync)
			}
			if h := server.Health; h.State != "failing" || h.Code != code || !strings.HasPrefix(h.Reason, server.LastSync.Message+" (at 127.0.0.1:") || h.Since == nil || h.NextProbeAt != nil || h.ConsecutiveFailures == 0 {
				t.Errorf("health %+v", h)
			}
		}
		a.up.SetFault()
		if got := a.callEcho(t, "p", "", "up__c"); errorCode(t, got) != 0 {
			t.Errorf("stored tool after a failed sync: %s", got.Body)
		}
		webtest.Check(t, webtest.Case{WantBody: []string{`"code":"NOT_FOUND"`}}, a.admin(t, "POST", "/api/servers/unknown/sync", "", 404, nil))
	})
}

func TestOutboundHeaders(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			a := onSQLite(t)
			up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(2), Eras: []upstreamtest.Era{era}})
			a.Apply(t, fmt.Sprintf(`{"projects":{"p":{"authMode":"api_key","mcpServers":{"up":{"url":%q,"headers":{"X-Own":"configured"}}}}}}`, up.Start(t)))
			a.Sync(t, "p", "up")
			_, key := a.Key(t, "p", 0)
			up.ForgetRequests()
			answer := webtest.Send(t, a.App.App, webtest.Case{Path: "/v1/mcp/p/request", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"x"}}}`, Header: map[string]string{
				"Authorization": "Bearer " + key, "Cookie": "sid=c4nary", "X-Forwarded-For": "c4nary", "X-Forwarded-Host": "c4nary", "Forwarded": "for=c4nary", "X-Own": "c4nary", "X-Other": "c4nary",
				"User-Agent": "c4nary", "Referer": "http://c4nary", "Mcp-Name": "up__echo", "Mcp-Param-X": "c4nary", "Proxy-Authorization": "c4nary", "X-Request-Id": "c4nary",
			}})
			if answer.Status != 200 || errorCode(t, answer) != 0 {
				t.Fatalf("%d %s", answer.Status, answer.Body)
			}
			calls := up.Requests("tools/call")
			if len(calls) != 1 {
				t.Fatalf("%d calls", len(calls))
			}
			h := calls[0].Header
			for name, values := range h {
				if all := strings.Join(values, " "); strings.Contains(all, "c4nary") || strings.Contains(all, key) || strings.Contains(all, "up__echo") {
					t.Errorf("%s: %s reached the upstream", name, all)
				}
			}
			if h.Get("X-Own") != "configured" || h.Get("Authorization") != "" || h.Get("Cookie") != "" {
				t.Errorf("headers %v", h)
			}
			if era.Stateless() && h.Get("Mcp-Name") != "echo" {
				t.Errorf("Mcp-Name = %q", h.Get("Mcp-Name"))
			}
		})
	}
}

func TestConfirmAccessByAPI(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		a.up.SetTools(tool("get", `,"annotations":{"destructiveHint":false}`))
		a.project(t, "p", "none", "")
		a.up.SetTools(tool("get", `,"annotations":{"readOnlyHint":true}`))
		a.Sync(t, "p", "up")
		var list struct {
			Items []struct{ DefinitionHash, Access, ClaimedAccess string }
		}
		a.admin(t, "GET", "/api/projects/p/tools", "", 200, &list)
		if got := list.Items[0]; got.Access != "write" || got.ClaimedAccess != "read" {
			t.Errorf("record %+v", got)
		}
		hash := list.Items[0].DefinitionHash
		for body, status := range map[string]int{
			`{"accessConfirmed":true}`: 422, `{"accessConfirmed":false,"definitionHash":"x"}`: 422, `{"enabled":true,"definitionHash":"x"}`: 422, `{"accessConfirmed":true,"definitionHash":"x"}`: 409,
		} {
			a.admin(t, "PATCH", "/api/projects/p/tools/up__get", body, status, nil)
		}
		var record struct{ Access, ClaimedAccess string }
		a.admin(t, "PATCH", "/api/projects/p/tools/up__get", `{"accessConfirmed":true,"definitionHash":"`+hash+`"}`, 200, &record)
		if record.Access != "read" || record.ClaimedAccess != "" {
			t.Errorf("confirmed %+v", record)
		}
	})
}

func TestOverridesByAPI(t *testing.T) {
	a := onSQLite(t)
	a.up.SetTools(tool("get", ""), tool("other", ""))
	a.project(t, "p", "none", "")
	path := "/api/servers/" + a.ServerID(t, "p", "up")
	saved := a.admin(t, "PATCH", path, `{"tools":{"get":{"as":"other","defaults":{"x":1.50}}}}`, 200, nil)
	webtest.Check(t, webtest.Case{WantBody: []string{`"tools":{"get":{"as":"other","defaults":{"x":1.50}}}`, `"code":"NAME_TAKEN"`, `"code":"OVERRIDE_STALE"`}}, saved)
	webtest.Check(t, webtest.Case{WantBody: []string{`"tools":{"get":{"as":"other"`}}, a.admin(t, "GET", path, "", 200, nil))
	refused := a.admin(t, "PATCH", path, `{"tools":{"get":{"titel":"x"}}}`, 422, nil)
	webtest.Check(t, webtest.Case{WantBody: []string{`"tools.get.titel"`, "did you mean title?"}}, refused)
	a.admin(t, "PATCH", path, `{"tools":{}}`, 200, nil)
	webtest.Check(t, webtest.Case{WantBody: []string{`"tools":{}`}}, a.admin(t, "GET", path, "", 200, nil))
	created := a.admin(t, "POST", "/api/projects/p/servers", `{"alias":"second","url":"`+a.url+`","tools":{"get":{"as":"new"}}}`, 201, nil)
	webtest.Check(t, webtest.Case{WantBody: []string{`"tools":{"get":{"as":"new"}}`}}, created)
}
