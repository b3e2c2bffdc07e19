package mcp_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// TestEchoedSecretsRedacted uses a server that repeats its credentials in all
// its responses. They must not appear in responses to clients and
// administrators, in the log or in the database files.
func TestEchoedSecretsRedacted(t *testing.T) {
	const bearer, header, password = "sesame-bearer/0123+456", "sesame-header-0123456", "sesame-password"
	basic := base64.StdEncoding.EncodeToString([]byte("user:" + password))
	all := strings.Join([]string{
		bearer, header, password, basic, base64.StdEncoding.EncodeToString([]byte(bearer)), `sesame-bearer\/0123+456`, `sesame-bearer/0123\u002B456`,
	}, " ")
	for _, era := range upstreamtest.AllEras() {
		for _, mode := range []upstreamtest.ResponseMode{upstreamtest.AnswerJSON, upstreamtest.AnswerSSE} {
			t.Run(fmt.Sprint(era, " ", mode), func(t *testing.T) {
				t.Parallel()
				up := upstreamtest.New(upstreamtest.Options{
					Eras: []upstreamtest.Era{era}, Answer: mode, Instructions: bearer, Name: header,
					Authorize: func(r *http.Request) bool {
						return r.Header.Get("Authorization") == "Bearer "+bearer && r.Header.Get("X-Key") == header && r.Header.Get("X-Login") == "Basic "+basic
					},
					Tools: []upstreamtest.Tool{{
						Definition: `{"name":"echo","description":"` + all + `","inputSchema":{"type":"object","properties":{"a":{"type":"string","default":"` + all + `"}}}}`,
						Call: func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
							_ = c.Progress(1, 2, bearer)
							_ = c.Notify("notifications/message", []byte(`{"level":"error","data":"`+all+`"}`))
							return upstreamtest.JSON(`{"content":[{"type":"text","text":"` + all + `"}],"structuredContent":{"` + bearer + `":"` + all + `"}}`)
						},
					}},
				})
				dir := t.TempDir()
				app := routestest.New(t, "sqlite:"+filepath.Join(dir, "gateway.db"))
				app.Apply(t, `{"projects":{"p":{"authMode":"none","recordPayloads":true,"codeMode":{"enabled":true},"mcpServers":{"up":{
					"url":"`+up.Start(t)+`","authType":"bearer","authBearer":"`+bearer+`","headers":{"X-Key":"`+header+`","X-Login":"Basic `+basic+`"}}}}}}`)
				app.Sync(t, "p", "up")
				var seen bytes.Buffer
				send := func(c webtest.Case) webtest.Response {
					answer := webtest.Send(t, app.App, c)
					fmt.Fprintln(&seen, answer.Body)
					return answer
				}
				call := func(tool, arguments string) webtest.Response {
					return send(webtest.Case{
						Path: "/v1/mcp/p/request", Header: map[string]string{"Accept": "application/json, text/event-stream"},
						Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `,"_meta":{"progressToken":1}}}`,
					})
				}
				webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{"[redacted]"}}, call("up__echo", "{}"))
				send(webtest.Case{Path: "/v1/mcp/p/request", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`})
				send(webtest.Case{Path: "/v1/mcp/p/request", Body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`})
				call("gateway_listTools", "{}")
				call("gateway_executeTool", `{"code":"return await up.echo({})"}`)

				failures := []upstreamtest.Fault{
					{Kind: upstreamtest.JSONRPCError, Error: &upstreamtest.RPCError{Code: -32000, Message: bearer}},
					{Kind: upstreamtest.Status, Status: 400, Body: all},
					{Kind: upstreamtest.Status, Status: 500, Body: all},
					{Kind: upstreamtest.Status, Status: 401, Body: all, Header: http.Header{"Www-Authenticate": {`Bearer error="` + bearer + `"`}}},
					{Kind: upstreamtest.Status, Status: 302, Header: http.Header{"Location": {"http://" + header + "/"}}},
					{Kind: upstreamtest.Raw, Body: all},
					{Kind: upstreamtest.Raw, Body: all, Header: http.Header{"Content-Type": {header + "/x"}}},
				}
				for _, f := range failures {
					f.On = upstreamtest.OnCall
					up.SetFault(f)
					call("up__echo", "{}")
					f.On = upstreamtest.OnList
					up.SetFault(f)
					id := app.ServerID(t, "p", "up")
					for _, c := range []webtest.Case{{Method: "POST", Path: "/api/servers/" + id + "/sync"}, {Method: "GET", Path: "/api/servers/" + id}} {
						c.Header = map[string]string{"Authorization": "Bearer " + routestest.AdminToken}
						send(c)
					}
				}
				seen.WriteString(app.Log.String())
				for _, secret := range []string{bearer, header, password, basic, "sesame-bearer"} {
					if i := strings.Index(seen.String(), secret); i >= 0 {
						t.Errorf("%s is in …%.200s", secret, seen.String()[max(i-100, 0):])
					}
				}
				routestest.Eventually(t, "the calls are stored", func() bool {
					return strings.Contains(send(webtest.Case{Method: "GET", Path: "/api/calls", Header: map[string]string{"Authorization": "Bearer " + routestest.AdminToken}}).Body, "up__echo")
				})
				files, _ := filepath.Glob(filepath.Join(dir, "gateway.db*"))
				for _, file := range files {
					content, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					for _, secret := range []string{bearer, header, password, basic, "sesame-bearer"} {
						if i := bytes.Index(content, []byte(secret)); i >= 0 {
							t.Errorf("%s is in %s: …%.200q", secret, filepath.Base(file), content[max(i-60, 0):])
						}
					}
				}
			})
		}
	}
}
