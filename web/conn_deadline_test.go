package web_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/web"
)

// countingListener counts how often a deadline of reading is set on the
// connections that it accepts.
type countingListener struct {
	net.Listener
	set atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &countingConn{c, l}, err
}

type countingConn struct {
	net.Conn
	l *countingListener
}

func (c *countingConn) SetReadDeadline(t time.Time) error {
	c.l.set.Add(1)
	return c.Conn.SetReadDeadline(t)
}

func TestDeadlinesOfReadingAreSeldomSet(t *testing.T) {
	app, _ := newApp(t)
	app.Get("/x", func(c *fiber.Ctx) error { return c.SendString("x") })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	counting := &countingListener{Listener: listener}
	ended := make(chan error, 1)
	go func() { ended <- app.Listener(web.Listener(counting)) }()
	conn := dialTCP(t, listener.Addr().String())
	in := bufio.NewReader(conn)
	const requests = 30
	for range requests {
		if _, err := io.WriteString(conn, "GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := next(in); err != nil || got != "x" {
			t.Fatalf("answered %q (%v)", got, err)
		}
	}
	_ = conn.Close()
	if err := app.Shutdown(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	// One for the first request, one between requests, and one more for each second.
	if n := counting.set.Load(); n < 2 || n >= requests {
		t.Errorf("%d requests set a deadline %d times", requests, n)
	}
}

// TestConnectionsOfClientsThatStopAreEnded has clients send a whole request, and
// then nothing or a part of another one.
func TestConnectionsOfClientsThatStopAreEnded(t *testing.T) {
	const whole = "POST /x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\nhi"
	const short, long = 1500 * time.Millisecond, time.Hour
	for name, tc := range map[string]struct {
		read, idle time.Duration
		rest       string
	}{
		"between requests":           {long, short, ""},
		"within a line":              {short, long, "P"},
		"within headers":             {short, long, "POST /x HTTP/1.1\r\nHost:"},
		"within a body":              {short, long, whole[:len(whole)-1]},
		"within headers of 8 KiB":    {short, long, "POST /x HTTP/1.1\r\nX: " + strings.Repeat("x", 8<<10)},
		"behind another whole one":   {long, short, whole},
		"behind one and within next": {short, long, whole + "POST"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app, _ := newApp(t)
			app.Server().ReadTimeout, app.Server().IdleTimeout = tc.read, tc.idle
			app.Post("/x", func(c *fiber.Ctx) error { return c.Send(c.Body()) })
			conn := dialTCP(t, serve(t, app))
			in := bufio.NewReader(conn)
			if _, err := io.WriteString(conn, whole); err != nil {
				t.Fatal(err)
			}
			if got, err := next(in); err != nil || got != "hi" {
				t.Fatalf("answered %q (%v)", got, err)
			}
			if _, err := io.WriteString(conn, tc.rest); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, in); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection is still open")
			}
		})
	}
}
