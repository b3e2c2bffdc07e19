package web_test

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
)

// exchange sends bytes to a server and returns what it answers until it ends
// the connection or the client's last request, which must ask for it, is over.
func exchange(t *testing.T, addr, sent string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, sent); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil && len(answer) == 0 { // a server that hangs up on unread bytes may reset the connection
		t.Fatal(err)
	}
	return string(answer)
}

func TestNoRequestHidesInAnother(t *testing.T) {
	app, _ := newApp(t)
	app.Post("/x", func(c *fiber.Ctx) error { return c.SendString("read " + string(c.BodyRaw())) })
	app.Get("/hidden", func(c *fiber.Ctx) error { return c.SendString("hidden was answered") })
	addr := serve(t, app)
	const hidden = "GET /hidden HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
	const post = "POST /x HTTP/1.1\r\nHost: localhost\r\n"
	for name, request := range map[string]string{
		"length first":  post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"chunks first":  post + "Transfer-Encoding: chunked\r\nContent-Length: 100\r\n\r\n0\r\n\r\n" + hidden,
		"identity":      post + "Transfer-Encoding: identity\r\nContent-Length: 0\r\n\r\n" + hidden,
		"two lengths":   post + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n" + hidden,
		"a list":        post + "Content-Length: 0, 0\r\n\r\n" + hidden,
		"a signed one":  post + "Content-Length: +0\r\n\r\n" + hidden,
		"HTTP/1.0":      "POST /x HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"folded header": post + "X: 1\r\n Content-Length: 0\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + hidden,
	} {
		answer := exchange(t, addr, request)
		if !strings.HasPrefix(answer, "HTTP/1.1 400 ") || strings.Count(answer, "HTTP/1.1 ") != 1 || strings.Contains(answer, "hidden") {
			t.Errorf("%s: answered %q", name, answer)
		}
	}
	for name, request := range map[string]string{
		"a length": post + "Content-Length: 2\r\n\r\nhi" + hidden,
		"chunks":   post + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n" + hidden,
	} {
		answer := exchange(t, addr, request)
		if !strings.Contains(answer, "read hi") || !strings.Contains(answer, "hidden was answered") {
			t.Errorf("%s alone: answered %q", name, answer)
		}
	}
}

func TestEveryOriginIsJudged(t *testing.T) {
	n := names(t, "https://gateway.example", nil, nil, false)
	guards := newGuards(t, "https://gateway.example")
	app, _ := newApp(t)
	app.Get("/mcp", n.CheckOrigin)
	app.Post("/page", append(guards.Visitor(), func(c *fiber.Ctx) error { return c.SendString("done") })...)
	addr := serve(t, app)
	const own, evil = "Origin: https://gateway.example\r\n", "Origin: https://evil.example\r\n"
	for origins, want := range map[string]string{own: " 200 ", own + own: " 200 ", own + evil: " 403 ", evil + own: " 403 ", own + "Origin: null\r\n": " 403 "} {
		for _, request := range []string{"GET /mcp", "POST /page"} {
			answer := exchange(t, addr, request+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+origins+"\r\n")
			if !strings.HasPrefix(answer, "HTTP/1.1"+want) {
				t.Errorf("%s with %q: %.60s", request, origins, answer)
			}
		}
	}
}
