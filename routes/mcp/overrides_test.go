package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

const (
	fixedSecret = "sesame-of-the-override"
	overrides   = `{"get_item":{"as":"fetch","title":"Fetch","description":"Fetches one item.","annotations":{"readOnlyHint":true},
		"fixed":{"tenant":"acme","vault":"${MCP_UPSTREAM_FIXED}"},"defaults":{"page":7}}}`
)

// overridden is an application whose server has an overridden tool, which returns
// its arguments and a header.
type overridden struct {
	*routestest.App
	up *upstreamtest.Server
}

func newOverridden(t *testing.T, dsn string) *overridden {
	t.Helper()
	o := &overridden{App: routestest.New(t, dsn, "MCP_UPSTREAM_FIXED="+fixedSecret)}
	o.up = upstreamtest.New(upstreamtest.Options{Tools: []upstreamtest.Tool{
		{
			Definition: `{"name":"get_item","description":"Old words.","inputSchema":{"type":"object","properties":{"tenant":{"type":"string","x-mcp-header":"Tenant"},"vault":{"type":"string"},"id":{"type":"integer"},"page":{"type":"integer"}},"required":["tenant","vault","id","page"],"additionalProperties":false}}`,
			Call: func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
				return upstreamtest.JSON(`{"content":[{"type":"text","text":"header ` + c.Header.Get("Mcp-Param-Tenant") + `"}],"structuredContent":` + string(c.Arguments) + `}`)
			},
		},
		upstreamtest.Echo(),
	}})
	o.Apply(t, `{"projects":{"p":{"authMode":"none","recordPayloads":true,"codeMode":{"enabled":true,"timeout":20000},"mcpServers":{"up":{"url":"`+o.up.Start(t)+`","tools":`+overrides+`}}}}}`)
	o.Sync(t, "p", "up")
	return o
}

// send sends a request as a client of the version.
func (o *overridden) send(t *testing.T, version, method, params string, more ...string) webtest.Response {
	t.Helper()
	c := webtest.Case{Path: "/v1/mcp/p/request", Header: map[string]string{"MCP-Protocol-Version": version}}
	if version == "2026-07-28" {
		params = strings.Replace(params, "{", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},`, 1)
		params = strings.Replace(params, ",}", "}", 1)
		c.Header["Mcp-Method"] = method
		var named struct{ Name string }
		if json.Unmarshal([]byte(params), &named) == nil && named.Name != "" {
			c.Header["Mcp-Name"] = named.Name
		}
	}
	for i := 0; i < len(more); i += 2 {
		c.Header[more[i]] = more[i+1]
	}
	c.Body = `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	return webtest.Send(t, o.App.App, c)
}

func (o *overridden) call(t *testing.T, version, tool, arguments string) webtest.Response {
	t.Helper()
	return o.send(t, version, "tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
}

// TestToolOverrides covers the guarantees of overrides: a fixed argument is in no
// schema, forced, and refused when sent; the former name of a renamed tool is not
// found.
func TestToolOverrides(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		o := newOverridden(t, dsn)
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(version, func(t *testing.T) {
				o.checkLists(t, version)
				o.checkCalls(t, version)
			})
		}
		o.checkCode(t)
		o.checkBatch(t)
		o.checkRecords(t)
	})
}

var hiddenWords = []string{"get_item", "Old words", "vault", "tenant", "acme", fixedSecret, "MCP_UPSTREAM_FIXED"}

func (o *overridden) checkLists(t *testing.T, version string) {
	t.Helper()
	webtest.Check(t, webtest.Case{
		Status:   200,
		WantBody: []string{`"name":"up__fetch"`, `"title":"Fetch"`, `"Fetches one item."`, `"readOnlyHint":true`, `"required":["id"]`, `"page":{"type":"integer","default":7}`},
		NotBody:  hiddenWords,
	}, o.send(t, version, "tools/list", `{}`))
	for _, arguments := range []string{`{"query":"name:fetch readonly:true","includeSchema":true}`, `{"task":"fetches one item","includeSchema":true}`} {
		webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{"up__fetch"}, NotBody: hiddenWords}, o.call(t, version, "gateway_searchMcpForTask", arguments))
	}
	for _, arguments := range []string{`{"query":"param:vault"}`, `{"query":"name:get_item"}`} {
		webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"count":0`}}, o.call(t, version, "gateway_searchMcpForTask", arguments))
	}
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`\"fetch\"(args`, "page?: number"}, NotBody: hiddenWords}, o.call(t, version, "gateway_listTools", `{}`))
}

func (o *overridden) checkCalls(t *testing.T, version string) {
	t.Helper()
	before := o.up.Calls()
	webtest.Check(t, webtest.Case{
		Status: 200, WantBody: []string{"header acme", `"structuredContent":{"id":1.50,"page":7,"tenant":"acme","vault":"[redacted]"}`}, NotBody: []string{fixedSecret},
	}, o.call(t, version, "up__fetch", `{"id":1.50}`))
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"page":2`}}, o.call(t, version, "up__fetch", `{"id":1,"page":2}`))
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"tenant":"acme"`, `"page":7`}}, o.send(t, version, "tools/call", `{"name":"up__fetch"}`))
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"tenant":"acme"`}}, o.call(t, version, "gateway_executeTool", `{"name":"up__fetch","arguments":{"id":1}}`))
	if n := o.up.Calls() - before; n != 4 {
		t.Errorf("the server got %d calls, want 4", n)
	}
	sent := o.up.Requests("tools/call")
	if last := string(sent[len(sent)-1].Body); !strings.Contains(last, `"vault":"`+fixedSecret+`"`) || !strings.Contains(last, `"name":"get_item"`) {
		t.Errorf("sent %s", last)
	}

	for _, arguments := range []string{`{"tenant":"acme"}`, `{"tenant":null}`, `{"id":1,"vault":"x"}`, `{"\u0074enant":"x"}`} {
		webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"code":-32602`, `"INVALID_PARAMETER"`}, NotBody: []string{"acme"}}, o.call(t, version, "up__fetch", arguments))
		webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"INVALID_PARAMETER"`}}, o.call(t, version, "gateway_executeTool", `{"name":"up__fetch","arguments":`+arguments+`}`))
	}
	for _, former := range []string{"up__get_item", "get_item"} {
		got, never := o.call(t, version, former, `{"id":1}`), o.call(t, version, strings.Replace(former, "get_item", "got_item", 1), `{"id":1}`)
		same := func(r webtest.Response) string {
			return routestest.Normalise(strings.ReplaceAll(r.Body, "got_item", "get_item"))
		}
		if !strings.Contains(got.Body, `"TOOL_NOT_FOUND"`) || same(got) != same(never) {
			t.Errorf("former name: %s\na name that never was: %s", got.Body, never.Body)
		}
	}
	if n := o.up.Calls() - before; n != 4 {
		t.Errorf("a refused call reached the server: %d calls", n)
	}
}

func (o *overridden) checkCode(t *testing.T) {
	t.Helper()
	run := func(code string) webtest.Response {
		text, _ := json.Marshal(code)
		return o.call(t, "2025-11-25", "gateway_executeTool", `{"code":`+string(text)+`}`)
	}
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`\"tenant\":\"acme\"`, `\"page\":7`}, NotBody: []string{fixedSecret}}, run(`return await up.fetch({id: 1})`))
	for _, code := range []string{
		`return await up.fetch({id: 1, tenant: "acme"})`, `return await gateway.call("up__fetch", {id: 1, vault: null})`, `return await up.get_item({id: 1})`, `return await up["get" + "_item"]({id: 1})`,
	} {
		webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"isError":true`}, NotBody: []string{`"ok":true`}}, run(code))
	}
}

func (o *overridden) checkBatch(t *testing.T) {
	t.Helper()
	one := func(id, name, arguments string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`
	}
	answer := webtest.Send(t, o.App.App, webtest.Case{
		Path: "/v1/mcp/p/request", Header: map[string]string{"MCP-Protocol-Version": "2025-03-26"},
		Body: "[" + one("1", "up__fetch", `{"id":1}`) + "," + one("2", "up__fetch", `{"tenant":1}`) + "," + one("3", "up__get_item", `{}`) + "]",
	})
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"tenant":"acme"`, "INVALID_PARAMETER", "TOOL_NOT_FOUND"}, NotBody: []string{fixedSecret}}, answer)
}

// checkRecords checks that stored calls have the arguments of the caller.
func (o *overridden) checkRecords(t *testing.T) {
	t.Helper()
	if answer := o.call(t, "2025-11-25", "up__fetch", `{"id":424242}`); answer.Status != 200 {
		t.Fatal(answer.Body)
	}
	var stored models.CallPayload
	routestest.Eventually(t, "the call is stored", func() bool {
		return o.Services.DB.First(&stored, "arguments LIKE ?", "%424242%").Error == nil
	})
	if stored.Arguments != `{"id":424242}` || strings.Contains(stored.Answer, fixedSecret) {
		t.Errorf("stored %s, %s", stored.Arguments, stored.Answer)
	}
}

// TestLostFixedArgument syncs a server that no longer has a fixed argument.
func TestLostFixedArgument(t *testing.T) {
	o := newOverridden(t, modelstest.SQLite(t))
	lost := upstreamtest.Echo()
	lost.Definition = `{"name":"get_item","inputSchema":{"type":"object","properties":{"tenant":{},"id":{}},"additionalProperties":true}}`
	o.up.SetTools(lost)
	synced := webtest.Send(t, o.App.App, webtest.Case{
		Method: "POST", Path: "/api/servers/" + o.ServerID(t, "p", "up") + "/sync", Header: map[string]string{"Authorization": "Bearer " + routestest.AdminToken},
	})
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{"OVERRIDE_STALE: Tool up__fetch is held back", "OVERRIDE_STALE: The default of"}}, synced)
	before := o.up.Calls()
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"code":-32003`, `"TOOL_DISABLED"`, "held back"}, NotBody: hiddenWords}, o.call(t, "2025-11-25", "up__fetch", `{"id":1}`))
	webtest.Check(t, webtest.Case{Status: 200, NotBody: []string{"up__fetch"}}, o.send(t, "2025-11-25", "tools/list", `{}`))
	if o.up.Calls() != before {
		t.Error("the call reached the server")
	}
	o.Apply(t, `{"projects":{"p":{"mcpServers":{"up":{"tools":{"get_item":{"as":"fetch","fixed":{"tenant":"acme"}}}}}}}}`)
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{"up__fetch"}}, o.send(t, "2025-11-25", "tools/list", `{}`))
}
