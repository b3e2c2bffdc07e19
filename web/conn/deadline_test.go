package conn_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"mcpgateway/web/webtest"

	"github.com/gofiber/fiber/v2"
)

// TestStalledConnectionsAreClosed sends a complete request, and then nothing or
// part of another one.
func TestStalledConnectionsAreClosed(t *testing.T) {
	const whole = "POST /x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\nhi"
	const short, long = 1500 * time.Millisecond, time.Hour
	for name, tc := range map[string]struct {
		read, idle time.Duration
		rest       string
	}{
		"between requests":        {long, short, ""},
		"within a line":           {short, long, "P"},
		"within headers":          {short, long, "POST /x HTTP/1.1\r\nHost:"},
		"within a body":           {short, long, whole[:len(whole)-1]},
		"within headers of 8 KiB": {short, long, "POST /x HTTP/1.1\r\nX: " + strings.Repeat("x", 8<<10)},
		"after another request":   {long, short, whole},
		"within a second request": {short, long, whole + "POST"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app, _ := webtest.NewApp(t)
			app.Server().ReadTimeout, app.Server().IdleTimeout = tc.read, tc.idle
			app.Post("/x", func(c *fiber.Ctx) error { return c.Send(c.Body()) })
			conn := webtest.DialTCP(t, webtest.Serve(t, app))
			in := bufio.NewReader(conn)
			if _, err := io.WriteString(conn, whole); err != nil {
				t.Fatal(err)
			}
			if got, err := next(in); err != nil || got != "hi" {
				t.Fatalf("response %q, %v", got, err)
			}
			if _, err := io.WriteString(conn, tc.rest); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, in); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("connection is still open")
			}
		})
	}
}
