package icons_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models/modelstest"
	"mcpgateway/services/background"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/catalog/icons"
	"mcpgateway/services/egress"
	"mcpgateway/services/notify"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// clock is set by tests.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// process is a gateway process with the icons of a database.
type process struct {
	*icons.Icons
	db    *gorm.DB
	clock *clock
	log   *lines
}

// host is a server of icons. Every test can trust it.
type host struct {
	*httptest.Server
	roots *x509.CertPool
}

func newHost(t *testing.T, handler http.HandlerFunc) host {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return host{server, roots}
}

// join opens a database in another process of a gateway and runs it.
func join(t *testing.T, dsn string, from host) *process {
	t.Helper()
	db := modelstest.Open(t, dsn)
	p := &process{db: db, clock: &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}, log: &lines{}}
	log := slog.New(slog.NewTextHandler(p.log, nil))
	feed, err := notify.NewFeed(db, dsn, log)
	if err != nil {
		t.Fatal(err)
	}
	clients := egress.NewClients(egress.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), egress.WithRootCAs(from.roots))
	p.Icons = icons.New(icons.Options{DB: db, Client: clients.Catalog(), Feed: feed, Now: p.clock.Now, Log: log, Tasks: background.New(log)})
	if err := p.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	feed.Subscribe(p.Changed)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	running.Go(func() { _ = feed.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		clients.Close()
	})
	return p
}

func onSQLite(t *testing.T, from host) *process {
	t.Helper()
	return join(t, modelstest.SQLite(t), from)
}

func eventually(t *testing.T, what string, holds func() bool) {
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

// turnedOff returns icons that are turned off.
func turnedOff() *icons.Icons { return nil }

// quiet returns a log that discards the errors of a host.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func send(content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) }
}

// chunked sends content without its length.
func chunked(content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		_, _ = w.Write(content)
	}
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}
}
