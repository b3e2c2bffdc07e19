package api_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

func TestMain(m *testing.M) {
	leaktest.Main(m)
}

// app is a whole application with an upstream.
type app struct {
	*routestest.App
	up  *upstreamtest.Server
	url string // of the upstream
}

func newApp(t *testing.T, dsn string, settings ...string) *app {
	t.Helper()
	a := &app{App: routestest.New(t, dsn, settings...), up: upstreamtest.New(upstreamtest.Options{Name: "up", Tools: upstreamtest.Standard(2)})}
	a.url = a.up.Start(t)
	return a
}

// each runs f on both kinds of database.
func each(t *testing.T, f func(t *testing.T, a *app)) {
	t.Helper()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) { f(t, newApp(t, dsn)) })
}

// onSQLite returns the application for tests that don't depend on the database.
func onSQLite(t *testing.T, settings ...string) *app {
	t.Helper()
	return newApp(t, modelstest.SQLite(t), settings...)
}

// project applies a project with the server up and syncs it.
func (a *app) project(t *testing.T, slug, mode, server string) {
	t.Helper()
	a.Apply(t, fmt.Sprintf(`{"projects":{%q:{"authMode":%q,"mcpServers":{"up":{"url":%q%s}}}}}`, slug, mode, a.url, server))
	a.Sync(t, slug, "up")
}

// trusting is the setting that allows a test to choose client addresses.
const trusting = "GATEWAY_TRUSTED_PROXIES=0.0.0.0/32"

// elsewhere returns the header of a client with a unique address, for tests
// that send more wrong credentials than one address may.
func elsewhere() func() string {
	n := 0
	return func() string {
		n++
		return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}).String()
	}
}

// send sends a request with an Authorization header, which may be empty.
func (a *app) send(t *testing.T, method, path, token, body string) webtest.Response {
	t.Helper()
	c := webtest.Case{Method: method, Path: path, Body: body}
	if token != "" {
		c.Header = map[string]string{"Authorization": "Bearer " + token}
	}
	return webtest.Send(t, a.App.App, c)
}

// admin sends a request of the administrator, checks the status and decodes the
// response.
func (a *app) admin(t *testing.T, method, path, body string, status int, into any) webtest.Response {
	t.Helper()
	answer := a.send(t, method, path, routestest.AdminToken, body)
	if answer.Status != status {
		t.Fatalf("%s %s: %d, want %d; %s", method, path, answer.Status, status, answer.Body)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(answer.Body), into); err != nil {
			t.Fatalf("%s %s: %v; %s", method, path, err, answer.Body)
		}
	}
	return answer
}

// rpc sends a JSON-RPC request to a project and returns the response.
func (a *app) rpc(t *testing.T, slug, key, method, params string) webtest.Response {
	t.Helper()
	return a.send(t, "POST", "/v1/mcp/"+slug+"/request", key, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
}

func (a *app) callEcho(t *testing.T, slug, key, tool string) webtest.Response {
	t.Helper()
	return a.rpc(t, slug, key, "tools/call", `{"name":"`+tool+`","arguments":{"text":"hi"}}`)
}

// errorCode returns the number of a JSON-RPC error, or 0.
func errorCode(t *testing.T, a webtest.Response) int {
	t.Helper()
	var body struct{ Error struct{ Code int } }
	if err := json.Unmarshal([]byte(a.Body), &body); err != nil {
		t.Fatalf("%v: %d %s", err, a.Status, a.Body)
	}
	return body.Error.Code
}

// listedTools returns the tools of tools/list, separated by spaces.
func (a *app) listedTools(t *testing.T, slug, key string) string {
	t.Helper()
	answer := a.rpc(t, slug, key, "tools/list", "{}")
	var body struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(answer.Body), &body); err != nil || answer.Status != 200 {
		t.Fatalf("%d %s: %v", answer.Status, answer.Body, err)
	}
	names := make([]string, 0, 8)
	for _, tool := range body.Result.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}
