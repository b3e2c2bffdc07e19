package web_test

import (
	"strings"
	"testing"

	"mcpgateway/web/webtest"

	"github.com/gofiber/fiber/v2"
)

func TestRequestSmuggling(t *testing.T) {
	app, _ := webtest.NewApp(t)
	app.Post("/x", func(c *fiber.Ctx) error { return c.SendString("read " + string(c.BodyRaw())) })
	app.Get("/hidden", func(c *fiber.Ctx) error { return c.SendString("hidden was served") })
	addr := webtest.Serve(t, app)
	const hidden = "GET /hidden HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
	const post = "POST /x HTTP/1.1\r\nHost: localhost\r\n"
	for name, request := range map[string]string{
		"length first":  post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"chunks first":  post + "Transfer-Encoding: chunked\r\nContent-Length: 100\r\n\r\n0\r\n\r\n" + hidden,
		"identity":      post + "Transfer-Encoding: identity\r\nContent-Length: 0\r\n\r\n" + hidden,
		"two lengths":   post + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n" + hidden,
		"list":          post + "Content-Length: 0, 0\r\n\r\n" + hidden,
		"signed one":    post + "Content-Length: +0\r\n\r\n" + hidden,
		"HTTP/1.0":      "POST /x HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"folded header": post + "X: 1\r\n Content-Length: 0\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + hidden,
	} {
		answer := webtest.RoundTrip(t, addr, request)
		if !strings.HasPrefix(answer, "HTTP/1.1 400 ") || strings.Count(answer, "HTTP/1.1 ") != 1 || strings.Contains(answer, "hidden") {
			t.Errorf("%s: response %q", name, answer)
		}
	}
	for name, request := range map[string]string{
		"length": post + "Content-Length: 2\r\n\r\nhi" + hidden,
		"chunks": post + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n" + hidden,
	} {
		answer := webtest.RoundTrip(t, addr, request)
		if !strings.Contains(answer, "read hi") || !strings.Contains(answer, "hidden was served") {
			t.Errorf("%s alone: response %q", name, answer)
		}
	}
}
