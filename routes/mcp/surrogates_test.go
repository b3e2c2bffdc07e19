package mcp_test

import (
	"context"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// half is the escape of a lone surrogate. Languages with UTF-16 strings, such as
// JavaScript, send it after they truncate a text.
const half = `\ud83d`

// TestLoneSurrogatesForwarded sends such escapes in both directions, with
// servers of every era.
func TestLoneSurrogatesForwarded(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			up := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: []upstreamtest.Tool{
				{
					Definition: `{"name":"cut","description":"Shortens a text ` + half + `","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"` + half + `"}}}}`,
					Call: func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
						return upstreamtest.JSON(`{"content":[{"type":"text","text":"` + half + `"}],"structuredContent":` + string(c.Arguments) + `}`)
					},
				},
				{Definition: `{"name":"bad` + half + `","inputSchema":{"type":"object"}}`},
			}})
			app := routestest.New(t, modelstest.SQLite(t))
			app.Apply(t, `{"projects":{"p":{"authMode":"none","recordPayloads":true,"codeMode":{"enabled":true},"mcpServers":{"up":{"url":"`+up.Start(t)+`"}}}}}`)
			synced := webtest.Send(t, app.App, webtest.Case{
				Method: "POST", Path: "/api/servers/" + app.ServerID(t, "p", "up") + "/sync", Header: map[string]string{"Authorization": "Bearer " + routestest.AdminToken},
			})
			webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"total":1`, `tool \"bad.\" was omitted: its name contains an unpaired surrogate`}}, synced)

			send := func(method, params string) webtest.Response {
				return webtest.Send(t, app.App, webtest.Case{Path: "/v1/mcp/p/request", Body: `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`})
			}
			webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"Shortens a text ` + half + `"`}, NotBody: []string{"bad"}}, send("tools/list", `{}`))
			arguments := `{"text":"` + half + `", "other":"\uDE00\uD83D\ude00"}`
			called := send("tools/call", `{"name":"up__cut","arguments":`+arguments+`}`)
			webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"text":"` + half + `"`, `"structuredContent":` + arguments}, NotBody: []string{`"error"`}}, called)
			if n := len(up.Requests("tools/call")); n != 1 {
				t.Errorf("got %d calls, want 1", n)
			}
			webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{"up__cut"}, NotBody: []string{`"error"`}},
				send("tools/call", `{"name":"gateway_searchMcpForTask","arguments":{"task":"shorten a text"}}`))
			webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`\"cut\"`, "Shortens a text \uFFFD"}, NotBody: []string{`"error"`}},
				send("tools/call", `{"name":"gateway_listTools","arguments":{}}`))
			ran := send("tools/call", `{"name":"gateway_executeTool","arguments":{"code":"const r = await up.cut({text: 'a\\ud83d'}); return r.text.length + r.text.charCodeAt(1)"}}`)
			webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"result":`}, NotBody: []string{`"isError":true`, `"error":{`}}, ran)
			if !strings.Contains(ran.Body, "65535") && !strings.Contains(ran.Body, "55359") {
				t.Errorf("code result: %s", ran.Body)
			}
		})
	}
}
