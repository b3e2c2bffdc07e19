package mcp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// nullApp returns the application, its URL and the upstream server docs, which has
// null members in its results.
func nullApp(t *testing.T) (app *routestest.App, base string, up *upstreamtest.Server) {
	t.Helper()
	options := offering("docs", "", "read")
	for method, result := range map[string]string{
		"prompts/list":             `{"prompts":[{"name":"brief"}],"nextCursor":null,"_meta":null}`,
		"resources/list":           `{"resources":[{"uri":"docs://doc","name":"doc"}],"nextCursor":null,"_meta":null}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"docs://{id}","name":"docs"}],"nextCursor":null,"_meta":null}`,
		"prompts/get":              `{"messages":[],"_meta":null}`,
		"resources/read":           `{"contents":[],"_meta":null}`,
		"completion/complete":      `{"completion":{"values":[]},"_meta":null}`,
	} {
		options.Methods[method] = func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON(result) }
	}
	options.Tools[0].Call = func(context.Context, *upstreamtest.Call) upstreamtest.Result {
		return upstreamtest.JSON(`{"content":[],"structuredContent":null,"_meta":null}`)
	}
	up = upstreamtest.New(options)
	app = routestest.New(t, modelstest.SQLite(t))
	app.Apply(t, fmt.Sprintf(`{"projects":{"p":{"authMode":"none","mcpServers":{"docs":{"url":%q}}}}}`, up.Start(t)))
	app.Sync(t, "p", "docs")
	return app, app.Serve(t), up
}

// TestNullsAreAbsent sends null where a member is optional. Neither side receives
// one.
func TestNullsAreAbsent(t *testing.T) {
	app, base, up := nullApp(t)
	up.ForgetRequests()
	for _, version := range []string{"2024-11-05", "2025-11-25", routestest.Stateless} {
		client := (&routestest.Client{Endpoint: base + "/v1/mcp/p/request", Version: version}).Open(t)
		for _, r := range [][2]string{
			{"tools/list", `{"cursor":null,"_meta":null}`},
			{"prompts/list", `{"cursor":null,"_meta":null}`},
			{"resources/list", `{"cursor":null,"_meta":null}`},
			{"resources/templates/list", `{"cursor":null,"_meta":null}`},
			{"tools/call", `{"name":"docs__read","arguments":null,"_meta":null}`},
			{"tools/call", `{"name":"gateway_executeTool","arguments":{"name":"docs__read","arguments":null,"code":null},"_meta":null}`},
			{"prompts/get", `{"name":"docs__brief","arguments":null,"_meta":null}`},
			{"resources/read", `{"uri":"docs://doc","_meta":null}`},
			{"completion/complete", `{"ref":{"type":"ref/prompt","name":"docs__brief"},"argument":{"name":"a","value":""},"_meta":null}`},
		} {
			params := r[1]
			if version == routestest.Stateless { // its _meta is required
				params = strings.Replace(params, `,"_meta":null`, "", 1)
			}
			m, err := client.Send(t.Context(), r[0], params)
			result := string(m.Result)
			if version == routestest.Stateless { // structured content can be null there
				result = strings.Replace(result, `"structuredContent":null`, "", 1)
			}
			if err != nil || m.Result == nil || strings.Contains(result, ":null") {
				t.Errorf("%s %s %s: %s%s%s, %v", version, r[0], params, m.Result, m.Error, m.Body, err)
			}
		}
	}
	for _, r := range up.Requests() {
		if strings.Contains(string(r.Body), ":null") {
			t.Errorf("the upstream received %s", r.Body)
		}
	}
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`:       `"result":{}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}`: `"result":{"tools":[`,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                  `"code":-32600`,
		`[{"jsonrpc":"2.0","id":null,"method":"ping"}]`:                `"code":-32600`,
	} {
		answer := webtest.Send(t, app.App, webtest.Case{Method: "POST", Path: "/v1/mcp/p/request", Body: body, Header: map[string]string{"Content-Type": "application/json"}})
		if !strings.Contains(answer.Body, want) {
			t.Errorf("%s: %s, want %s", body, answer.Body, want)
		}
	}
}
