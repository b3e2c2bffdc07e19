package health_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/health"
	"mcpgateway/services/egress"
	"mcpgateway/services/notify"
	"mcpgateway/services/page"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream/pool"
	"mcpgateway/services/upstream/upstreamtest"
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

// world is the catalog of a gateway process and its checks.
type world struct {
	*health.Checker
	*clock
	db      *gorm.DB
	catalog *catalog.Catalog
	log     bytes.Buffer
}

// timeout is that of requests to servers that never respond.
const timeout = 500 * time.Millisecond

func start(t *testing.T, dsn string) *world {
	t.Helper()
	db := modelstest.Open(t, dsn)
	w := &world{db: db, clock: &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}}
	log := slog.New(slog.NewTextHandler(&w.log, nil))
	feed, err := notify.NewFeed(db, dsn, log)
	if err != nil {
		t.Fatal(err)
	}
	clients := egress.NewClients(egress.NewGuard(egress.DefaultAllow(true)))
	p := pool.New(clients.MCP(), "1.2.3")
	t.Cleanup(func() {
		p.Close()
		clients.Close()
	})
	ring, err := secrets.ParseKeyRing("test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	w.catalog = catalog.New(db, page.NewCursors(ring), "test", log, nil)
	feed.Subscribe(w.catalog.Changed)
	w.Checker = health.New(health.Options{DB: db, Client: p, Audit: activity.NewAudit(db, w.Now), Feed: feed, Now: w.Now, Log: log, Timeout: timeout})
	return w
}

func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) { f(t, start(t, dsn)) })
}

func onSQLite(t *testing.T) *world {
	t.Helper()
	return start(t, modelstest.SQLite(t))
}

// add stores a row of the catalog with an address, and loads the catalog.
func (w *world) add(t *testing.T, id, address string, edit ...func(*models.CatalogEntry)) {
	t.Helper()
	row := models.CatalogEntry{
		ID: id, SourceID: catalog.SourceFile, PublisherName: "acme", PublisherTitle: "Acme", ServerName: id, ServerTitle: id, ServerType: "http", AuthType: "unknown",
		RemoteURL: address, Status: models.CatalogActive, CreatedAt: w.Now(), UpdatedAt: w.Now(),
	}
	for _, change := range edit {
		change(&row)
	}
	if err := w.db.Create(&row).Error; err != nil {
		t.Fatal(err)
	}
	w.touch(t)
}

// touch loads the catalog after a change of its rows.
func (w *world) touch(t *testing.T) {
	t.Helper()
	if err := w.db.Transaction(func(tx *gorm.DB) error { return notify.Touch(tx, notify.Catalog()) }); err != nil {
		t.Fatal(err)
	}
	if err := w.catalog.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (w *world) check(t *testing.T, id string) *models.CatalogCheck {
	t.Helper()
	check, err := w.Check(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return check
}

// mock starts an upstream server.
func mock(t *testing.T, o upstreamtest.Options, faults ...upstreamtest.Fault) (*upstreamtest.Server, string) {
	t.Helper()
	server := upstreamtest.New(o)
	server.SetFault(faults...)
	return server, server.Start(t)
}

func tool(name, annotations, properties string) upstreamtest.Tool {
	return upstreamtest.Tool{Definition: fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":%s}%s}`, name, properties, annotations)}
}
