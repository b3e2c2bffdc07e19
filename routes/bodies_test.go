package routes_test

import (
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/web"
	"mcpgateway/web/webtest"
)

func TestBodyLimitOfPaths(t *testing.T) {
	const small = 8 << 10
	a := routestest.New(t, modelstest.SQLite(t))
	a.Apply(t, `{"projects":{"open":{"authMode":"none"},"keyed":{"authMode":"api_key"},"people":{"authMode":"oauth"}}}`)
	bearer := map[string]string{"Authorization": "Bearer x"}
	cookie := map[string]string{"Cookie": "sid=x"}
	tests := []struct {
		name, method, path string
		header             map[string]string
		limit              int
	}{
		{"open project", "POST", "/v1/mcp/open/request", nil, web.MaxBody},
		{"stream of an open project", "POST", "/v1/mcp/open/sse?sessionId=x", nil, web.MaxBody},
		{"keyed project", "POST", "/v1/mcp/keyed/request", nil, small},
		{"keyed project with credentials", "POST", "/v1/mcp/keyed/request", bearer, web.MaxBody},
		{"keyed project with a cookie", "POST", "/v1/mcp/keyed/request", cookie, small},
		{"oauth project", "POST", "/v1/mcp/people/request", nil, small},
		{"unknown project", "POST", "/v1/mcp/nothing/request", nil, small},
		{"no project", "POST", "/v1/mcp/", nil, small},
		{"API", "POST", "/api/projects", nil, small},
		{"API with credentials", "POST", "/api/projects", bearer, web.MaxBody},
		{"API with a cookie", "POST", "/api/projects", cookie, web.MaxBody},
		{"import", "POST", "/admin/import", nil, small},
		{"import with a cookie", "POST", "/admin/import", cookie, web.MaxBody},
		{"pasted servers with a cookie", "POST", "/admin/projects/open/servers/new", cookie, web.MaxBody},
		{"tools with a cookie", "POST", "/admin/projects/open/tools", cookie, web.MaxBody},
		{"sign-in", "POST", "/login", cookie, small},
		{"setup", "POST", "/setup", nil, small},
		{"consent", "POST", "/oauth/authorize", cookie, small},
		{"token", "POST", "/oauth/token", bearer, small},
		{"token of guessing clients", "POST", "/token", bearer, small},
		{"registration", "POST", "/oauth/register", bearer, small},
		{"probe", "POST", "/healthz", bearer, small},
		{"nothing", "POST", "/nothing", bearer, small},
		{"GET", "GET", "/v1/mcp/open/request", bearer, 0},
		{"HEAD", "HEAD", "/healthz", nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for n, refused := range map[int]bool{tt.limit - 1: false, tt.limit: false, tt.limit + 1: true} {
				if n < 0 {
					continue
				}
				answer := webtest.Send(t, a.App, webtest.Case{Method: tt.method, Path: tt.path, Header: tt.header, Body: strings.Repeat("x", n)})
				if (answer.Status == 413) != refused {
					t.Errorf("%d bytes of at most %d: status %d %s", n, tt.limit, answer.Status, answer.Body)
				}
			}
		})
	}
}
