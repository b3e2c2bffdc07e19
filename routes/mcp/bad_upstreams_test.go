package mcp_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// TestFailingUpstreamsIsolated uses three servers: a healthy one, one that has
// stopped, and one that accepts connections and never responds.
func TestFailingUpstreamsIsolated(t *testing.T) {
	well := upstreamtest.New(upstreamtest.Options{Name: "well", Tools: upstreamtest.Standard(6)})
	hole := upstreamtest.New(upstreamtest.Options{Name: "hole", Tools: upstreamtest.Standard(6)})
	dead := upstreamtest.New(upstreamtest.Options{Name: "dead", Tools: upstreamtest.Standard(6)})
	deadContext, end := context.WithCancel(t.Context())
	deadURL, err := dead.Listen(deadContext, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dsn := modelstest.SQLite(t)
	app := routestest.New(t, dsn, "GATEWAY_PUBLIC_URL=http://localhost:8080") // so that errors name 127.0.0.1 only if they name the server
	app.Apply(t, fmt.Sprintf(`{"projects":{"p":{"authMode":"none","mcpServers":{
		"well":{"url":%q},"hole":{"url":%q,"timeout":4000},"dead":{"url":%q}}}}}`, well.Start(t), hole.Start(t), deadURL))
	app.Sync(t, "p", "well", "hole", "dead")
	hole.SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.Hang})
	end()
	routestest.Eventually(t, "the dead server is gone", func() bool {
		c, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(deadURL, "http://"), "/mcp"))
		if err == nil {
			c.Close()
		}
		return err != nil
	})

	call := func(tool string) webtest.Case {
		return webtest.Case{Path: "/v1/mcp/p/request", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"text":"hi"}}}`, Status: 200}
	}
	hanging := make(chan webtest.Response, 1)
	go func() { hanging <- webtest.Send(t, app.App, call("hole__echo")) }()

	start := time.Now()
	list := webtest.Send(t, app.App, webtest.Case{Path: "/v1/mcp/p/request", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`})
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"well__echo"`, `"hole__echo"`, `"dead__echo"`}}, list)
	healthy := webtest.Send(t, app.App, call("well__echo"))
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"text":"hi"`}, NotBody: []string{`"error"`}}, healthy)
	t.Logf("tools/list and a healthy call during a hanging one took %v", time.Since(start))
	select {
	case a := <-hanging:
		t.Errorf("the hanging call returned: %s", a.Body)
	default:
	}

	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"code":-32603`, `"code":"UPSTREAM_TIMEOUT"`}, NotBody: []string{"127.0.0.1"}}, <-hanging)
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"code":-32603`, `"code":"UPSTREAM_`, `Upstream \"dead\" cannot be reached: connection refused.`}, NotBody: []string{"127.0.0.1"}}, webtest.Send(t, app.App, call("dead__echo")))
	if !strings.Contains(app.Log.String(), `"error":"at `+strings.TrimSuffix(strings.TrimPrefix(deadURL, "http://"), "/mcp")) {
		t.Error("the log does not name the host")
	}
	webtest.Check(t, webtest.Case{Status: 502, WantBody: []string{`"code":"UPSTREAM_`}}, webtest.Send(t, app.App, webtest.Case{
		Method: "POST", Path: "/api/servers/" + app.ServerID(t, "p", "dead") + "/sync", Header: map[string]string{"Authorization": "Bearer " + routestest.AdminToken},
	}))
	after := webtest.Send(t, app.App, webtest.Case{Path: "/v1/mcp/p/request", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`})
	if after.Body != list.Body {
		t.Error("a failed sync changed the list")
	}

	for range 4 { // with the previous call and sync, enough failures to open the breaker
		webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"code":-32603`, `"code":"UPSTREAM_`}}, webtest.Send(t, app.App, call("dead__echo")))
	}
	paused := webtest.Send(t, app.App, webtest.Case{Path: "/v1/mcp/p/request", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`})
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"dead__echo"`, `"gateway/coverage":{"kind":"complete","warnings":[{"code":"SERVER_UNAVAILABLE","message":"Calls to server dead currently fail: `}, NotBody: []string{"127.0.0.1"}}, paused)
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"state":"open"`, `"reason":"Upstream \"dead\" cannot be reached: connection refused. (at 127.0.0.1:`, `"nextProbeAt":null`}}, webtest.Send(t, app.App, webtest.Case{
		Method: "GET", Path: "/api/servers/" + app.ServerID(t, "p", "dead"), Header: map[string]string{"Authorization": "Bearer " + routestest.AdminToken},
	}))
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"SERVER_UNAVAILABLE"`}, NotBody: []string{"127.0.0.1"}}, webtest.Send(t, app.App, webtest.Case{
		Path: "/v1/mcp/p/request", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gateway_searchMcpForTask","arguments":{"task":"echo a text"}}}`,
	}))
}
