package api_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"mcpgateway/web"
	"mcpgateway/web/conn"
	"mcpgateway/web/webtest"
)

const (
	list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	evil = "https://evil.example"
)

func TestEndpointPathsAreExact(t *testing.T) {
	a := onSQLite(t)
	a.project(t, "pub", "none", "")
	for _, path := range []string{"/v1/mcp/pub/request/", "/v1/mcp/pub/request//", "/v1/mcp/pub/sse/", "/v1/mcp/pub/requests", "/v1/mcp/pub/", "/v1/mcp/pub/Request"} {
		for _, method := range []string{"POST", "GET", "DELETE", "OPTIONS"} {
			body := list
			if method == "GET" {
				body = ""
			}
			answer := webtest.Send(t, a.App.App, webtest.Case{Method: method, Path: path, Body: body})
			if answer.Status != 404 || !strings.Contains(answer.Body, `"code":"NOT_FOUND"`) {
				t.Errorf("%s %s: %d %s", method, path, answer.Status, answer.Body)
			}
		}
	}
	if answer := webtest.Send(t, a.App.App, webtest.Case{Path: "/v1/mcp/pub/request?x=/", Body: list}); answer.Status != 200 {
		t.Errorf("exact path: %d %s", answer.Status, answer.Body)
	}
}

func TestOrderOfChecks(t *testing.T) {
	a := onSQLite(t)
	a.project(t, "pub", "none", "")
	a.project(t, "key", "api_key", "")
	_, key := a.Key(t, "key", 0)
	with := func(pairs ...string) map[string]string {
		h := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			h[pairs[i]] = pairs[i+1]
		}
		return h
	}
	const unknown, pub, keyed = "/v1/mcp/zzz/request", "/v1/mcp/pub/request", "/v1/mcp/key/request"
	const authorization, origin, host, kind, encoding = "Authorization", "Origin", "Host", "Content-Type", "Content-Encoding"
	var cases []webtest.Case
	// 1. An unknown project is 404 before all other checks.
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"} {
		for name, h := range map[string]map[string]string{
			"plain": nil, "external origin": with(origin, evil), "external host": with(host, "evil.example"), "text": with(kind, "text/plain"), "a key": with(authorization, "Bearer "+key),
		} {
			c := webtest.Case{Name: "unknown project, " + method + ", " + name, Method: method, Path: unknown, Body: list, Header: h, Status: 404, NotBody: []string{"tools", "inputSchema"}}
			if method == "GET" || method == "HEAD" {
				c.Body = ""
			}
			if method != "HEAD" {
				c.WantBody = []string{`"code":"NOT_FOUND"`}
			}
			cases = append(cases, c)
		}
	}
	cases = append(cases,
		// 2. Origin and Host precede the credentials.
		webtest.Case{Name: "external origin, public", Path: pub, Body: list, Header: with(origin, evil), Status: 403, WantBody: []string{"FORBIDDEN"}},
		webtest.Case{Name: "external origin without a key", Path: keyed, Body: list, Header: with(origin, evil), Status: 403, WantHeader: with("WWW-Authenticate", "")},
		webtest.Case{Name: "external origin with a key", Path: keyed, Body: list, Header: with(origin, evil, authorization, "Bearer "+key), Status: 403, WantHeader: with("Access-Control-Allow-Origin", "")},
		webtest.Case{Name: "origin null", Path: pub, Body: list, Header: with(origin, "null"), Status: 403},
		webtest.Case{Name: "external host, public", Path: pub, Body: list, Header: with(host, "evil.example"), Status: 403, WantBody: []string{"FORBIDDEN"}},
		webtest.Case{Name: "external host without a key", Path: keyed, Body: list, Header: with(host, "evil.example:8080"), Status: 403},
		webtest.Case{Name: "external origin with a wrong method", Method: "PUT", Path: pub, Body: list, Header: with(origin, evil), Status: 403},
		webtest.Case{Name: "own origin", Path: pub, Body: list, Header: with(origin, "http://127.0.0.1:8080"), Status: 200},
		webtest.Case{Name: "loopback origin", Path: pub, Body: list, Header: with(origin, "http://localhost:6274"), Status: 200},
		// 3. Credentials precede method, type, size and content.
		webtest.Case{Name: "no key, wrong method", Method: "PUT", Path: keyed, Body: list, Status: 401, WantHeader: with("WWW-Authenticate", `Bearer realm="gateway"`, "Allow", "")},
		webtest.Case{Name: "no key, GET", Method: "GET", Path: keyed, Status: 401},
		webtest.Case{Name: "no key, text", Path: keyed, Body: list, Header: with(kind, "text/plain"), Status: 401},
		webtest.Case{Name: "no key, broken", Path: keyed, Body: "{", Status: 401},
		// 4. The method precedes type and content.
		webtest.Case{Name: "PUT", Method: "PUT", Path: pub, Body: "{", Header: with(kind, "text/plain"), Status: 405, WantBody: []string{"METHOD_NOT_ALLOWED"}},
		webtest.Case{Name: "GET of a plain client", Method: "GET", Path: pub, Status: 405},
		webtest.Case{Name: "PATCH with a key", Method: "PATCH", Path: keyed, Body: list, Header: with(authorization, "Bearer "+key), Status: 405},
		// 5. The type precedes the content.
		webtest.Case{Name: "text", Path: pub, Body: "{", Header: with(kind, "text/plain"), Status: 415, WantBody: []string{"UNSUPPORTED_MEDIA_TYPE"}},
		webtest.Case{Name: "no type", Path: pub, Body: list, Header: with(kind, ""), Status: 415},
		webtest.Case{Name: "form", Path: pub, Body: list, Header: with(kind, "multipart/form-data; boundary=x"), Status: 415},
		webtest.Case{Name: "compressed", Path: pub, Body: list, Header: with(encoding, "gzip"), Status: 415},
		// 6. Then the content is parsed.
		webtest.Case{Name: "broken", Path: pub, Body: "{", Status: 400, WantBody: []string{`"code":-32700`, `"id":null`}},
		webtest.Case{Name: "duplicate member", Path: pub, Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"ping"}`, Status: 400, WantBody: []string{`"code":-32700`}},
		webtest.Case{Name: "member in another case", Path: pub, Body: `{"jsonrpc":"2.0","id":1,"Method":"tools/list"}`, Status: 400, WantBody: []string{`"code":-32600`}},
		webtest.Case{Name: "right", Path: pub, Body: list, Status: 200, WantBody: []string{"up__echo"}},
		webtest.Case{Name: "valid with a key", Path: keyed, Body: list, Header: with(authorization, "Bearer "+key), Status: 200, WantBody: []string{"up__echo"}},
	)
	webtest.Run(t, a.App.App, cases)
	for _, method := range []string{"PUT", "PATCH", "GET"} {
		if allow := webtest.Send(t, a.App.App, webtest.Case{Method: method, Path: pub}).Header.Get("Allow"); !strings.Contains(allow, "POST") {
			t.Errorf("%s: Allow = %q", method, allow)
		}
	}
}

func TestBodyNestingLimit(t *testing.T) {
	a := onSQLite(t)
	a.project(t, "pub", "none", "")
	for depth, want := range map[int]int{63: 0, 64: 0, 65: -32700, 5000: -32700} {
		inner := depth - 3 // within the message, its params and their arguments
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"x","deep":` + strings.Repeat("[", inner) + strings.Repeat("]", inner) + `}}}`
		answer := a.send(t, "POST", "/v1/mcp/pub/request", "", body)
		if got := errorCode(t, answer); got != want || (answer.Status == 400) != (want != 0) {
			t.Errorf("%d levels: %d %d %s", depth, answer.Status, got, answer.Body)
		}
	}
}

func TestWrongPathsAreJSON(t *testing.T) {
	a := onSQLite(t)
	a.project(t, "pub", "none", "")
	for _, path := range []string{
		"/mcp/pub/request", "/v1/mcp/pub", "/v1/mcp/pub/", "/v1/mcp//request", "/v2/mcp/pub/request", "/v1/mcp/pub/requests", "/v1/mcp/pub/request/x", "/v1/mcp/request",
		"/v1/mcp/pub/x/request", "/V1/mcp/pub/request", "/v1/MCP/pub/request", "/v1/mcp/pub/Request", "/v1/mcp/PUB/request", "/v1/mcp/pub%2Frequest", "/api", "/api/nothing", "/API/projects", "/v1",
	} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			c := webtest.Case{Method: method, Path: path, Status: 404, WantBody: []string{`"code":"NOT_FOUND"`}, WantHeader: map[string]string{"Content-Type": "application/json"}, NotBody: []string{"up__echo"}}
			if method == "POST" {
				c.Body = list
			}
			t.Run(method+" "+path, func(t *testing.T) { webtest.Check(t, c, webtest.Send(t, a.App.App, c)) })
		}
	}
	page := webtest.Send(t, a.App.App, webtest.Case{Path: "/nothing", Header: map[string]string{"Accept": "text/html"}})
	webtest.Check(t, webtest.Case{Status: 404, WantHeader: map[string]string{"Content-Type": "text/html; charset=utf-8"}, WantBody: []string{"<html", page.Header.Get("X-Request-Id")}}, page)
}

func TestEveryResponseIsGuarded(t *testing.T) {
	a := onSQLite(t, "GATEWAY_PUBLIC_URL=https://gateway.example")
	a.project(t, "pub", "none", "")
	a.project(t, "key", "api_key", "")
	want := map[string]string{"X-Content-Type-Options": "nosniff", "Strict-Transport-Security": "max-age=31536000; includeSubDomains", "Referrer-Policy": "same-origin"}
	for _, c := range []webtest.Case{
		{Path: "/"}, {Path: "/healthz"}, {Path: "/readyz"}, {Path: "/nothing"}, {Path: "/nothing", Header: map[string]string{"Accept": "text/html"}}, {Path: "/api/projects"},
		{Path: "/v1/mcp/pub/request", Body: list}, {Path: "/v1/mcp/key/request", Body: list}, {Path: "/v1/mcp/zzz/request", Body: list}, {Path: "/v1/mcp/pub/request", Body: "{"},
		{Path: "/v1/mcp/pub/request", Body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`}, {Method: "DELETE", Path: "/"}, {Path: "/", Header: map[string]string{"Host": "evil.example"}},
	} {
		answer := webtest.Send(t, a.App.App, c)
		c.WantHeader, c.WantBody = want, nil
		t.Run(c.Method+c.Path+c.Body, func(t *testing.T) { webtest.Check(t, c, answer) })
		if policy := answer.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: policy %q", c.Path, policy)
		}
		if answer.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: no request id", c.Path)
		}
	}
}

// listen serves the application on a loopback port until the test ends.
func (a *app) listen(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.Listener(conn.Listener(listener)) }()
	t.Cleanup(func() {
		if err := a.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// post sends one request on a new connection and returns the response.
func post(t *testing.T, addr, path, header string, body []byte) webtest.Response {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n", path, len(body), header)
		_, _ = conn.Write(body) // the server closes the connection before the whole body is written
	}()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	<-sent
	return webtest.Response{Status: resp.StatusCode, Header: resp.Header, Body: string(b)}
}

func TestBodySizeLimit(t *testing.T) {
	a := onSQLite(t)
	a.project(t, "pub", "none", "")
	a.project(t, "key", "api_key", "")
	addr := a.listen(t)
	head, tail := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"`, `"}}}`
	for n, status := range map[int]int{web.MaxBody - 1: 200, web.MaxBody: 200, web.MaxBody + 1: 413, 2 * web.MaxBody: 413} {
		answer := post(t, addr, "/v1/mcp/pub/request", "", []byte(head+strings.Repeat("x", n-len(head)-len(tail))+tail))
		if answer.Status != status || status == 413 && !strings.Contains(answer.Body, `"code":"PAYLOAD_TOO_LARGE"`) || status == 200 && !strings.Contains(answer.Body, "xxx") {
			t.Errorf("%d bytes: %d %.200s", n, answer.Status, answer.Body)
		}
		if answer.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%d bytes: headers %v", n, answer.Header)
		}
	}
	if answer := post(t, addr, "/v1/mcp/key/request", "", make([]byte, web.MaxBody+1)); answer.Status != 413 && answer.Status != 401 {
		t.Errorf("too large without a key: %d", answer.Status)
	}
}

func TestBomb(t *testing.T) {
	a := onSQLite(t)
	a.project(t, "pub", "none", "")
	var member bytes.Buffer // of 1 MiB; a file can contain many
	w := gzip.NewWriter(&member)
	if _, err := w.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	bomb := bytes.Repeat(member.Bytes(), 200)
	addr := a.listen(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, encoding := range []string{"gzip", "GZIP", "deflate", "br", "zstd", "gzip, gzip", "identity, gzip"} {
		answer := post(t, addr, "/v1/mcp/pub/request", "Content-Encoding: "+encoding+"\r\n", bomb)
		webtest.Check(t, webtest.Case{Status: 415, WantBody: []string{`"code":"UNSUPPORTED_MEDIA_TYPE"`}}, answer)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 40<<20 { // one inflated bomb is 200 MiB
		t.Errorf("allocated %d MiB for %d KiB", grown>>20, len(bomb)>>10)
	}
}
