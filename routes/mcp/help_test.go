package mcp_test

import (
	"regexp"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/views/docs"
	"mcpgateway/web/webtest"
)

// errorWithHelp captures the code of an error of the gateway, and its help.
var errorWithHelp = regexp.MustCompile(`"(?:data":\{")?code":"([A-Z_]+)"[^{}]*(?:\{[^{}]*\}[^{}]*)?"help":"([^"]*)"`)

// Every error of the gateway has the address of its code's documentation.
func TestErrorsHaveHelp(t *testing.T) {
	const origin = "https://gateway.example.com"
	app := routestest.New(t, modelstest.SQLite(t), "GATEWAY_PUBLIC_URL="+origin)
	app.Apply(t, `{"projects":{"p":{"authMode":"none"},"k":{}}}`)
	site, err := docs.Load()
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]bool{}
	for _, part := range site.Find("errors").Parts {
		parts[part.ID] = true
	}
	host := map[string]string{"Host": "gateway.example.com"}
	call := func(name string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":{}}}`
	}
	tests := []struct {
		name, method, path, body string
		codes                    []string
	}{
		{"unknown tool", "POST", "/v1/mcp/p/request", call("a__b"), []string{"TOOL_NOT_FOUND"}},
		{"unknown method", "POST", "/v1/mcp/p/request", `{"jsonrpc":"2.0","id":1,"method":"x"}`, []string{"NOT_FOUND"}},
		{"invalid JSON", "POST", "/v1/mcp/p/request", `{`, []string{"INVALID_PARAMETER"}},
		{"batch", "POST", "/v1/mcp/p/request", `[7,` + call("a__b") + `]`, []string{"INVALID_PARAMETER", "TOOL_NOT_FOUND"}},
		{"unknown qualifier", "POST", "/v1/mcp/p/request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gateway_searchMcpForTask","arguments":{"query":"a:b"}}}`, []string{"UNKNOWN_QUALIFIER"}},
		{"bridge", "POST", "/v1/mcp/p/sse", call("a__b"), []string{"TOOL_NOT_FOUND"}},
		{"missing key", "POST", "/v1/mcp/k/request", call("a__b"), []string{"UNAUTHORIZED"}},
		{"unknown project", "POST", "/v1/mcp/x/request", call("a__b"), []string{"NOT_FOUND"}},
		{"unknown path", "GET", "/nothing", "", []string{"NOT_FOUND"}},
		{"catalog query", "GET", "/api/registry?query=a:b", "", []string{"UNKNOWN_QUALIFIER"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := webtest.Send(t, app.App, webtest.Case{Method: tt.method, Path: tt.path, Body: tt.body, Header: host})
			found := errorWithHelp.FindAllStringSubmatch(a.Body, -1)
			if len(found) != len(tt.codes) || strings.Count(a.Body, `"help"`) != len(found) {
				t.Fatalf("%d errors with help, want %q: %s", len(found), tt.codes, a.Body)
			}
			for i, m := range found {
				if m[1] != tt.codes[i] || m[2] != origin+"/docs/errors#"+m[1] || !parts[m[1]] {
					t.Errorf("help of %s = %q, want the address of %s: %s", m[1], m[2], tt.codes[i], a.Body)
				}
			}
		})
	}
}
