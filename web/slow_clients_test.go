package web_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"mcpgateway/web/webtest"

	"github.com/gofiber/fiber/v2"
)

// TestSlowloris opens 200 connections that never complete their requests.
// Others are still served, and the server closes the slow ones in time.
func TestSlowloris(t *testing.T) {
	const halfOpen = 200
	app, _ := webtest.NewApp(t)
	if d := app.Server().ReadTimeout; d != 30*time.Second {
		t.Errorf("ReadTimeout = %s", d)
	}
	app.Server().ReadTimeout = 2 * time.Second // the same mechanism, without the wait
	app.Get("/healthz", func(c *fiber.Ctx) error { return c.SendString("ok") })
	addr := webtest.Serve(t, app)
	begun := []string{
		"", "G", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
		"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{", "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
	}
	var conns []net.Conn
	for n := range halfOpen {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, begun[n%len(begun)]); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for range 20 {
		resp, err := client.Get("http://" + addr + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != 200 || string(body) != "ok" {
			t.Fatalf("with %d half-open connections: %d %q %v", halfOpen, resp.StatusCode, body, err)
		}
	}
	for n, conn := range conns {
		if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("connection %d, with request %q, is still open", n, begun[n%len(begun)])
		}
	}
}
