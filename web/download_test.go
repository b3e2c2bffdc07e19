package web_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/web"
	"mcpgateway/web/webtest"
)

// fileFunc implements web.File.
type fileFunc func(ctx context.Context) ([]byte, error)

func (f fileFunc) Next(ctx context.Context) ([]byte, error) { return f(ctx) }

// listening serves an application until the test ends and returns its address.
func listening(t *testing.T, app *fiber.App) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Listener(listener) }()
	t.Cleanup(func() {
		// A response that never ends would hold this up.
		if err := errors.Join(app.ShutdownWithTimeout(30*time.Second), <-ended); err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func TestSendFile(t *testing.T) {
	app, _ := webtest.NewApp(t)
	parts := func(all ...string) fileFunc {
		return func(ctx context.Context) ([]byte, error) {
			if len(all) == 0 {
				return nil, io.EOF
			}
			part := all[0]
			all = all[1:]
			if part == "fails" {
				return nil, fault.Invalid("It failed.")
			}
			if _, limited := ctx.Deadline(); limited {
				part += " limited"
			}
			return []byte(part + "\n"), nil
		}
	}
	send := func(path string, all ...string) {
		app.Get(path, web.Deadline(time.Hour), func(c *fiber.Ctx) error { return web.SendFile(c, "text/plain", "a.txt", parts(all...)) })
	}
	send("/whole", "a", "b", "c")
	send("/early", "fails")
	send("/cut", "a", "fails", "c")
	webtest.Run(t, app, []webtest.Case{
		{Name: "whole", Path: "/whole", Status: 200, WantHeader: map[string]string{"Content-Disposition": `attachment; filename="a.txt"`}, WantBody: []string{"a limited\nb\nc\n"}},
		{Name: "early failure", Path: "/early", Status: 400, WantBody: []string{"It failed."}},
	})
	response, err := http.Get("http://" + listening(t, app) + "/cut")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil || string(body) != "a limited\n" {
		t.Errorf("truncated file: %q, %v", body, err)
	}
}

// TestSendFileStopsReading reads the start of an endless file and disconnects.
func TestSendFileStopsReading(t *testing.T) {
	app, _ := webtest.NewApp(t)
	app.Get("/", func(c *fiber.Ctx) error {
		part := []byte(strings.Repeat("x", 64<<10))
		return web.SendFile(c, "text/plain", "a.txt", fileFunc(func(context.Context) ([]byte, error) { return part, nil }))
	})
	conn, err := net.Dial("tcp", listening(t, app))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("%q, %v", line, err)
	}
}
