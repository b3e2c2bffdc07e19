package web_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/web"
	"mcpgateway/web/webtest"
)

var always = map[string]string{
	"X-Content-Type-Options":    "nosniff",
	"Referrer-Policy":           "same-origin",
	"Strict-Transport-Security": "max-age=31536000; includeSubDomains",
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
		"base-uri 'none'; object-src 'none'; frame-ancestors 'none'; form-action 'self'",
}

func TestSecurityHeadersOnAllResponses(t *testing.T) {
	app, _ := webtest.NewApp(t)
	app.Get("/ok", func(c *fiber.Ctx) error { return c.SendString("x") })
	app.Get("/fault", func(*fiber.Ctx) error { return fault.Conflict("no") })
	app.Get("/panic", func(*fiber.Ctx) error { panic("no") })
	var cases []webtest.Case
	for path, status := range map[string]int{"/ok": 200, "/fault": 409, "/panic": 500, "/unknown": 404} {
		for _, accept := range []string{"", "text/html"} {
			cases = append(cases, webtest.Case{Name: path + " " + accept, Path: path, Header: map[string]string{"Accept": accept}, Status: status, WantHeader: always})
		}
	}
	cases = append(cases,
		webtest.Case{Name: "external host", Path: "/ok", Header: map[string]string{"Host": "evil.example"}, Status: 403, WantHeader: always},
		webtest.Case{Name: "wrong method", Method: "POST", Path: "/ok", Status: 405, WantHeader: always})
	webtest.Run(t, app, cases)
	plain, _ := webtest.NewApp(t, func(o *web.Options) { o.HTTPS = false })
	webtest.Run(t, plain, []webtest.Case{{Name: "no HSTS on http", Path: "/", Status: 404, WantHeader: map[string]string{"Strict-Transport-Security": "", "X-Content-Type-Options": "nosniff"}}})
}

func TestMalformedRequests(t *testing.T) {
	app, log := webtest.NewApp(t)
	app.Post("/x", func(c *fiber.Ctx) error { return c.SendString("x") })
	addr := webtest.Serve(t, app)
	for name, tc := range map[string]struct {
		request string
		status  int
		code    string
	}{
		"body over the limit":     {"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048577\r\n\r\n", 413, "PAYLOAD_TOO_LARGE"},
		"headers over the limit":  {"GET /x HTTP/1.1\r\nHost: localhost\r\nX-Big: " + strings.Repeat("x", 20<<10) + "\r\n\r\n", 431, "PAYLOAD_TOO_LARGE"},
		"not HTTP":                {"NONSENSE\r\n\r\n", 400, "INVALID_PARAMETER"},
		"no host":                 {"GET /x HTTP/1.1\r\n\r\n", 400, "INVALID_PARAMETER"},
		"two lengths of the body": {"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400, "INVALID_PARAMETER"},
		"length and chunks":       {"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "INVALID_PARAMETER"},
		"chunks and a length":     {"POST /x HTTP/1.1\r\nHost: localhost\r\ntransfer-encoding: CHUNKED\r\ncontent-length: 5\r\n\r\n0\r\n\r\n", 400, "INVALID_PARAMETER"},
		"identity and a length":   {"POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}", 400, "INVALID_PARAMETER"},
		"two encodings":           {"POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "INVALID_PARAMETER"},
		"unknown encoding":        {"POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400, "INVALID_PARAMETER"},
		"length, space, colon":    {"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length : 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "INVALID_PARAMETER"},
		"unknown method":          {"FROBNICATE /x HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "METHOD_NOT_ALLOWED"},
		"long unknown method":     {strings.Repeat("X", 4<<10) + " /x HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "METHOD_NOT_ALLOWED"},
		"method in lower case":    {"get /x HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "METHOD_NOT_ALLOWED"},
		"invalid length":          {"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n", 400, "INVALID_PARAMETER"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, tc.request); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			id := resp.Header.Get("X-Request-Id")
			webtest.Check(t, webtest.Case{Status: tc.status, WantHeader: always, WantBody: []string{`"code":"` + tc.code + `"`, `"requestId":"` + id + `"`}},
				webtest.Response{Status: resp.StatusCode, Header: resp.Header, Body: string(body)})
			if id == "" || strings.Count(log.String(), id) != 1 {
				t.Errorf("%d log lines for request %q, want 1", strings.Count(log.String(), id), id)
			}
		})
	}
}

func TestPanicDetailsAreHidden(t *testing.T) {
	app, log := webtest.NewApp(t)
	app.Get("/panic", func(c *fiber.Ctx) error {
		switch c.Query("kind") {
		case "nil":
			var p *web.Event
			p.RequestID = "x"
		case "index":
			s := []int{}
			_ = s[len(c.Query("kind"))]
		}
		panic("password is hunter2")
	})
	for _, kind := range []string{"nil", "index", "text"} {
		for _, accept := range []string{"", "text/html"} {
			a := webtest.Send(t, app, webtest.Case{Path: "/panic?kind=" + kind, Header: map[string]string{"Accept": accept}})
			webtest.Check(t, webtest.Case{Status: 500, WantBody: []string{"Internal error. Retry later."}, NotBody: []string{"hunter2", "panic", "goroutine", ".go"}}, a)
		}
	}
	if !strings.Contains(log.String(), "hunter2") || !strings.Contains(log.String(), "server_test.go") {
		t.Errorf("log lacks the panic: %s", log)
	}
	webtest.Run(t, app, []webtest.Case{{Name: "next request", Path: "/unknown", Status: 404}})
}

func TestOneLogLinePerRequest(t *testing.T) {
	app, log := webtest.NewApp(t)
	app.Get("/ok", func(c *fiber.Ctx) error {
		e := web.EventOf(c)
		e.Project, e.Method, e.Tool, e.Upstream = "p", "tools/call", "a__b", "a"
		return c.SendString("x")
	})
	app.Get("/fault", func(*fiber.Ctx) error { return fault.Conflict("no").Because(io.ErrUnexpectedEOF) })
	app.Get("/healthz", func(c *fiber.Ctx) error { return nil })
	for _, tc := range []struct {
		path string
		want map[string]any
	}{
		{"/ok?key=s3cret", map[string]any{"level": "INFO", "msg": "request", "method": "GET", "path": "/ok", "status": 200.0, "project": "p", "rpc": "tools/call", "tool": "a__b", "upstream": "a", "code": nil, "error": nil}},
		{"/fault", map[string]any{"level": "ERROR", "status": 409.0, "code": "CONFLICT", "error": "unexpected EOF", "project": nil}},
		{"/healthz", map[string]any{"level": "DEBUG", "status": 200.0}},
		{"/%0Aforged", map[string]any{"level": "INFO", "status": 404.0, "code": "NOT_FOUND"}},
	} {
		before := len(log.String())
		a := webtest.Send(t, app, webtest.Case{Path: tc.path})
		line := log.String()[before:]
		var got map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil || strings.Count(line, "\n") != 1 {
			t.Fatalf("%s: logged %q, %v", tc.path, line, err)
		}
		if got["request_id"] != a.Header.Get("X-Request-Id") {
			t.Errorf("%s: request id %v", tc.path, got["request_id"])
		}
		for key, want := range tc.want {
			if got[key] != want {
				t.Errorf("%s: %s is %v, want %v", tc.path, key, got[key], want)
			}
		}
		if strings.Contains(line, "s3cret") {
			t.Errorf("log contains the query: %s", line)
		}
	}
}
