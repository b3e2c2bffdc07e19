package mcp_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// listeningGateway is a gateway with a separate database, keys and listener.
type listeningGateway struct {
	*routestest.App
	url string // of the endpoint of project p
}

func startGateway(t *testing.T, key string) *listeningGateway {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	secret := sha256.Sum256([]byte(key))
	app := routestest.New(t, modelstest.SQLite(t),
		"GATEWAY_ADDR="+listener.Addr().String(), "GATEWAY_SECRETS_KEYS=test:"+base64.StdEncoding.EncodeToString(secret[:]))
	ended := make(chan error, 1)
	go func() { ended <- app.Listener(listener) }()
	t.Cleanup(func() {
		_ = app.ShutdownWithTimeout(0)
		<-ended
	})
	return &listeningGateway{App: app, url: "http://" + listener.Addr().String() + "/v1/mcp/p/request"}
}

// toolsOf returns the tool names listed for a client that isn't a gateway.
func (g *listeningGateway) toolsOf(t *testing.T) (names []string) {
	t.Helper()
	answer := webtest.Send(t, g.App.App, webtest.Case{Path: "/v1/mcp/p/request", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`})
	var list struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(answer.Body), &list); err != nil {
		t.Fatalf("%s: %v", answer.Body, err)
	}
	for _, tool := range list.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// sync syncs the server through the admin API.
func (g *listeningGateway) sync(t *testing.T, alias string) webtest.Response {
	t.Helper()
	return webtest.Send(t, g.App.App, webtest.Case{
		Method: "POST", Path: "/api/servers/" + g.ServerID(t, "p", alias) + "/sync", Header: map[string]string{"Authorization": "Bearer " + routestest.AdminToken},
	})
}

// TestSelfReferenceRejected uses a server whose URL leads back to its own
// project through a proxy, which checks of the URL can't detect.
func TestSelfReferenceRejected(t *testing.T) {
	g := startGateway(t, "A")
	to, _ := url.Parse(g.url)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: to.Scheme, Host: to.Host})
	}})
	defer proxy.Close()
	g.Apply(t, `{"projects":{"p":{"authMode":"none","mcpServers":{"self":{"url":"`+proxy.URL+to.Path+`"}}}}}`)
	for range 3 {
		webtest.Check(t, webtest.Case{Status: 502, WantBody: []string{`Upstream \"self\"`, `points back to this gateway`}}, g.sync(t, "self"))
	}
	if got := strings.Join(g.toolsOf(t), " "); got != "gateway_searchMcpForTask gateway_executeTool" {
		t.Errorf("tools/list = %s", got)
	}
	state := webtest.Send(t, g.App.App, webtest.Case{Method: "GET", Path: "/api/servers/" + g.ServerID(t, "p", "self"), Header: map[string]string{"Authorization": "Bearer " + routestest.AdminToken}})
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`points back to this gateway`}}, state)
}

// TestMutualGatewaysDoNotGrow repeatedly syncs two gateways that are servers of
// each other.
func TestMutualGatewaysDoNotGrow(t *testing.T) {
	a, b := startGateway(t, "A"), startGateway(t, "B")
	up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	a.Apply(t, `{"projects":{"p":{"authMode":"none","mcpServers":{"b":{"url":"`+b.url+`"},"up":{"url":"`+up.Start(t)+`"}}}}}`)
	b.Apply(t, `{"projects":{"p":{"authMode":"none","mcpServers":{"a":{"url":"`+a.url+`"}}}}}`)
	a.Sync(t, "p", "up")
	for range 4 {
		b.Sync(t, "p", "a")
		a.Sync(t, "p", "b")
	}
	if got, want := strings.Join(b.toolsOf(t), " "), "a__up__echo a__gateway_searchMcpForTask a__gateway_executeTool gateway_searchMcpForTask gateway_executeTool"; got != want {
		t.Errorf("tools of b: got %s, want %s", got, want)
	}
	if got, want := strings.Join(a.toolsOf(t), " "), "b__gateway_searchMcpForTask b__gateway_executeTool up__echo gateway_searchMcpForTask gateway_executeTool"; got != want {
		t.Errorf("tools of a: got %s, want %s", got, want)
	}
	call := webtest.Case{Path: "/v1/mcp/p/request", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a__up__echo","arguments":{"text":"hi"}}}`}
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{`"text":"hi"`}}, webtest.Send(t, b.App.App, call))
	around := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b__gateway_executeTool","arguments":{"name":"a__up__echo","arguments":{"text":"hi"}}}}`
	webtest.Check(t, webtest.Case{Status: 200, WantBody: []string{"is in a loop"}, NotBody: []string{`"text":"hi"`}},
		webtest.Send(t, a.App.App, webtest.Case{Path: "/v1/mcp/p/request", Body: around}))
}

// TestGatewayChainLimit lists and calls a tool through chains of 1 to 4
// gateways.
func TestGatewayChainLimit(t *testing.T) {
	up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	next, tool := up.Start(t), "echo"
	for n, key := range []string{"A", "B", "C", "D"} {
		g := startGateway(t, key)
		g.Apply(t, `{"projects":{"p":{"authMode":"none","mcpServers":{"g":{"url":"`+next+`"}}}}}`)
		g.Sync(t, "p", "g")
		next, tool = g.url, "g__"+tool
		listed := strings.Contains(" "+strings.Join(g.toolsOf(t), " ")+" ", " "+tool+" ")
		if want := n+1 <= 3; listed != want {
			t.Errorf("through %d gateways: listed = %t, want %t", n+1, listed, want)
		}
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"text":"hi"}}}`
		answer := webtest.Send(t, g.App.App, webtest.Case{Path: "/v1/mcp/p/request", Body: body})
		if works := strings.Contains(answer.Body, `"text":"hi"`); works != listed {
			t.Errorf("through %d gateways: listed = %t, but the call returned %s", n+1, listed, answer.Body)
		}
	}
}

// TestHopsLimit sends requests with a Gateway-Hops header.
func TestHopsLimit(t *testing.T) {
	g := startGateway(t, "A")
	g.Apply(t, `{"projects":{"p":{"authMode":"none"}}}`)
	own := g.Services.Instance
	for _, tc := range []struct {
		hops   []string
		status int
	}{
		{nil, 200}, {[]string{"x"}, 200}, {[]string{"x, y"}, 200}, {[]string{"x", "y"}, 200}, {[]string{"x, y, z"}, 508}, {[]string{"x", "y,z"}, 508},
		{[]string{"x,y,z,w"}, 508}, {[]string{own}, 508}, {[]string{"x", own}, 508}, {[]string{own + "1"}, 200}, {[]string{",, "}, 200},
	} {
		for _, path := range []string{"/v1/mcp/p/request", "/v1/mcp/p/sse"} {
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gateway_searchMcpForTask","arguments":{"task":"x"}}}`
			r, _ := http.NewRequest(http.MethodPost, strings.Replace(g.url, "/v1/mcp/p/request", path, 1), bytes.NewReader([]byte(body)))
			r.Header["Content-Type"], r.Header["Gateway-Hops"] = []string{"application/json"}, tc.hops
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != tc.status || (tc.status == 508) != strings.Contains(string(text), "LOOP_DETECTED") {
				t.Errorf("%s with %q: HTTP %d %s", path, tc.hops, resp.StatusCode, text)
			}
		}
	}
}

// TestOwnOriginRejectedAtSave saves servers with URLs of the gateway itself and
// of other hosts.
func TestOwnOriginRejectedAtSave(t *testing.T) {
	for _, tc := range []struct {
		addr, public, url string
		refused           bool
	}{
		{"127.0.0.1:8080", "", "http://127.0.0.1:8080/v1/mcp/other/request", true},
		{"127.0.0.1:8080", "", "http://LOCALHOST:8080/", true},
		{"127.0.0.1:8080", "", "http://127.0.0.2:8080/", true},
		{"127.0.0.1:8080", "", "http://[::1]:8080/", true},
		{"127.0.0.1:8080", "", "http://127.0.0.1:8081/", false},
		{"127.0.0.1:8080", "", "http://10.0.0.1:8080/", false},
		{"127.0.0.1:8080", "https://gw.example", "https://GW.example./mcp", true},
		{"127.0.0.1:8080", "https://gw.example", "https://gw.example:443/mcp", true},
		{"127.0.0.1:8080", "https://gw.example", "http://127.0.0.1:8080/mcp", true},
		{"127.0.0.1:8080", "https://gw.example", "https://gw.example:8443/mcp", false},
		{"127.0.0.1:8080", "https://gw.example", "https://mcp.gw.example/mcp", false},
		{"0.0.0.0:8080", "https://gw.example", "http://127.0.0.1:8080/mcp", true},
	} {
		settings := []string{"GATEWAY_ADDR=" + tc.addr, "GATEWAY_EGRESS_ALLOW=127.0.0.0/8,10.0.0.0/8,::1/128"}
		if tc.public != "" {
			settings = append(settings, "GATEWAY_PUBLIC_URL="+tc.public)
		}
		app := routestest.New(t, modelstest.SQLite(t), settings...)
		app.Apply(t, `{"projects":{"p":{"authMode":"none"}}}`)
		host := "127.0.0.1:8080"
		if tc.public != "" {
			host = "gw.example"
		}
		answer := webtest.Send(t, app.App, webtest.Case{
			Method: "POST", Path: "/api/projects/p/servers", Body: `{"alias":"up","url":"` + tc.url + `"}`,
			Header: map[string]string{"Authorization": "Bearer " + routestest.AdminToken, "Host": host},
		})
		if refused := strings.Contains(answer.Body, "This is the gateway's own address"); refused != tc.refused || refused != (answer.Status == 422) || !refused && answer.Status != 201 {
			t.Errorf("%s at %s, %s: HTTP %d %s", tc.url, tc.addr, tc.public, answer.Status, answer.Body)
		}
	}
}
