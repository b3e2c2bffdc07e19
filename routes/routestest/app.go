// Package routestest builds the whole application for tests: real services on a
// new database, without a listener.
package routestest

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes"
	"mcpgateway/services"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/passwords"
	"mcpgateway/services/config"
	"mcpgateway/services/declaration"
	"mcpgateway/services/projects"
)

// AdminToken is the administration token of every test application.
const AdminToken = "administration-token-of-the-tests"

// App is a running application.
type App struct {
	*fiber.App
	Services *services.Services
	Log      *Log
}

// Log stores the log of the application. It is safe for concurrent use.
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

// New builds the application on the database with the data source name dsn and
// runs its services until the test ends. settings are additional environment
// variables, each NAME=VALUE. Password hashes are quick to compute; all else is
// as in the program.
func New(t testing.TB, dsn string, settings ...string) *App {
	t.Helper()
	return NewWithClock(t, &Clock{}, dsn, settings...)
}

// Clock is a clock that tests can move forward. The zero value shows the time.
type Clock struct{ ahead atomic.Int64 } // nanoseconds

// Now returns the time of the clock, in UTC and milliseconds.
func (c *Clock) Now() time.Time {
	return time.Now().Add(time.Duration(c.ahead.Load())).UTC().Truncate(time.Millisecond)
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) { c.ahead.Add(int64(d)) }

// NewWithClock is like New with the clock of sessions, keys, tokens and groups.
func NewWithClock(t testing.TB, clock *Clock, dsn string, settings ...string) *App {
	t.Helper()
	environ := append([]string{
		"GATEWAY_DATABASE_URL=" + dsn, "GATEWAY_ADMIN_TOKEN=" + AdminToken, "GATEWAY_ADDR=127.0.0.1:8080",
		"GATEWAY_BUILTIN_CATALOG=false", // slow to load, and few tests use it
		"GATEWAY_CATALOG_ICONS=false",   // from hosts that tests must not reach
		"GATEWAY_SECRETS_KEYS=test:" + "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
	}, settings...)
	c, err := config.Load(environ, "")
	if err != nil {
		t.Fatal(err)
	}
	logged := &Log{}
	log := slog.New(slog.NewJSONHandler(io.MultiWriter(logged), &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := services.NewWithAccess(t.Context(), c, "test", log, services.AccessParts{Hasher: passwords.New(accesstest.QuickDerivation), Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- s.Run(ctx, func() { close(ready) }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("services: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
		if t.Failed() {
			text := logged.String()
			t.Logf("end of the log:\n%s", text[max(0, len(text)-4096):])
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		t.Fatalf("start services: %v", err)
	}
	return &App{App: routes.New(s, log), Services: s, Log: logged}
}

// Apply applies a declarative file.
func (a *App) Apply(t testing.TB, file string) {
	t.Helper()
	d, err := declaration.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Services.Projects.Apply(t.Context(), d, projects.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Sync syncs a project's servers and fails the test if one of the named servers
// fails.
func (a *App) Sync(t testing.TB, slug string, aliases ...string) {
	t.Helper()
	for _, alias := range aliases {
		if _, err := a.Services.Syncer.Sync(t.Context(), a.ServerID(t, slug, alias)); err != nil {
			t.Fatalf("sync %s: %v", alias, err)
		}
	}
}

// ServerID returns the ID of a project's server.
func (a *App) ServerID(t testing.TB, slug, alias string) string {
	t.Helper()
	p, err := a.Services.Directory.Project(slug)
	if err != nil {
		t.Fatal(err)
	}
	if p.Server(alias) == nil {
		t.Fatalf("project %s has no server %s", slug, alias)
	}
	return p.Server(alias).Config.ID
}

// Key creates an API key of a project and returns its ID and text.
func (a *App) Key(t testing.TB, slug string, lifetime time.Duration) (id, text string) {
	t.Helper()
	p, err := a.Services.Directory.Project(slug)
	if err != nil {
		t.Fatal(err)
	}
	row, key, err := a.Services.Keys.Create(t.Context(), p.Project.ID, "test", lifetime)
	if err != nil {
		t.Fatal(err)
	}
	return row.ID, key.Reveal()
}

// Eventually polls until holds returns true. It fails the test after 30 s.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("timeout waiting for: %s", what)
		}
		<-tick.C
	}
}

var (
	help      = regexp.MustCompile(`,"help":"http://127\.0\.0\.1:8080/docs/errors#[A-Z0-9_]+"`)
	requestID = regexp.MustCompile(`"requestId":"[0-9a-f-]+"`)
	score     = regexp.MustCompile(`(\\?"score\\?":)[0-9.]+`)
	cursors   = regexp.MustCompile(`(\\?"nextCursor\\?":\\?")[^"\\]+`)
	builtins  = regexp.MustCompile(`\{"name":"gateway_searchMcpForTask",.*"openWorldHint":true\}\}`)
)

// Normalise removes the addresses of error codes, which follow from the codes,
// and replaces the variable parts of a response: request IDs, cursors,
// search scores (which change with tuning) and the long definitions of built-in
// tools in lists.
func Normalise(body string) string {
	body = cursors.ReplaceAllString(body, "${1}CURSOR")
	body = help.ReplaceAllString(body, "")
	body = score.ReplaceAllString(body, "${1}1")
	return builtins.ReplaceAllString(requestID.ReplaceAllString(body, `"requestId":"ID"`), "BUILTINS")
}
