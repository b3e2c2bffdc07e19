package webtest

import (
	"bytes"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"mcpgateway/web"
	"mcpgateway/web/conn"
)

// Log stores the log of the application.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns the log.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Page renders the arguments of an error page.
func Page(_ *fiber.Ctx, status int, message, requestID string) templ.Component {
	return templ.Raw("<p>" + strings.Repeat("!", status/100) + templ.EscapeString(message) + " " + requestID + "</p>")
}

// NewApp returns a server for https://gateway.example on a loopback listener,
// and its log.
func NewApp(t *testing.T, edits ...func(*web.Options)) (*fiber.App, *Log) {
	t.Helper()
	log := &Log{}
	o := web.Options{
		Names: Names(t, "https://gateway.example", nil, nil, true), HTTPS: true, ErrorPage: Page,
		Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, edit := range edits {
		edit(&o)
	}
	return web.New(o), log
}

// Names returns the names of a public URL, or fails the test.
func Names(t *testing.T, public string, hosts, origins []string, loopback bool) *web.HostPolicy {
	t.Helper()
	u, err := url.Parse(public)
	if err != nil {
		t.Fatal(err)
	}
	return web.NewNames(u, hosts, origins, loopback)
}

// Serve listens on a loopback port until the test ends and returns its address.
func Serve(t *testing.T, app *fiber.App) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Listener(conn.Listener(listener)) }()
	t.Cleanup(func() {
		if err := app.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}
