package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/importer"
	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/page"
	"mcpgateway/services/secrets"
)

func TestMain(m *testing.M) {
	code := leaktest.Run(m)
	if err := withDefaults.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// withDefaults has the built-in data.
var withDefaults = modelstest.Filled{Fill: func(t testing.TB, dsn string) {
	t.Helper()
	db, err := models.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	feed, err := notify.NewFeed(db, dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{now: midday}
	if err := catalog.NewStore(db, nil, activity.NewAudit(db, c.Now), feed, c.Now).LoadDefaults(t.Context()); err != nil {
		t.Error(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
}}

var midday = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// clock advances by a second on each call.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Second)
	return c.now
}

// world is a gateway process's catalog on one database.
type world struct {
	db      *gorm.DB
	feed    *notify.Feed
	store   *catalog.Store
	catalog *catalog.Catalog
}

func ring(t testing.TB) *secrets.KeyRing {
	t.Helper()
	r, err := secrets.ParseKeyRing("test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// join opens the database in another process of the gateway.
func join(t *testing.T, dsn string) *world {
	t.Helper()
	db := modelstest.Open(t, dsn)
	log := slog.New(slog.DiscardHandler)
	feed, err := notify.NewFeed(db, dsn, log)
	if err != nil {
		t.Fatal(err)
	}
	clients := egress.NewClients(egress.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}))
	t.Cleanup(clients.Close)
	c := &clock{now: midday}
	w := &world{db: db, feed: feed}
	w.store = catalog.NewStore(db, clients.Catalog(), activity.NewAudit(db, c.Now), feed, c.Now)
	w.catalog = catalog.New(db, page.NewCursors(ring(t)), "test", log, nil)
	feed.Subscribe(w.catalog.Changed)
	return w
}

// start is join with the built-in data loaded.
func start(t *testing.T, dsn string) *world {
	t.Helper()
	w := join(t, dsn)
	if err := w.store.LoadDefaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.catalog.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// each runs f on both kinds of database.
func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	withDefaults.Each(t, func(t *testing.T, dsn string) { f(t, start(t, dsn)) })
}

func onSQLite(t *testing.T) *world {
	t.Helper()
	return start(t, withDefaults.SQLite(t))
}

// want fails the test unless err is a fault with the code.
func want(t *testing.T, err error, code fault.Code) *fault.Fault {
	t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != code {
		t.Fatalf("got %v, want the fault %s", err, code)
	}
	return f
}

// names returns publisher/server of entries, separated by spaces.
func names(rows []*models.CatalogEntry) string {
	list := make([]string, len(rows))
	for i, e := range rows {
		list[i] = e.PublisherName + "/" + e.ServerName
	}
	return strings.Join(list, " ")
}

// entries returns the first page of a query.
func (w *world) entries(t *testing.T, text string) *catalog.Result[*models.CatalogEntry] {
	t.Helper()
	found, err := w.catalog.Entries(t.Context(), catalog.Search{Text: text, Limit: page.MaxLimit})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return found
}

// importFile imports a document and returns the plan.
func (w *world) importFile(t *testing.T, document string) importer.Plan {
	t.Helper()
	plan, err := w.store.ImportFile(t.Context(), []byte(document), false)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// audited returns the actions in the audit log, oldest first.
func (w *world) audited(t *testing.T) []string {
	t.Helper()
	var actions []string
	if err := w.db.Model(&models.AuditEntry{}).Order("seq").Pluck("action", &actions).Error; err != nil {
		t.Fatal(err)
	}
	return actions
}

// revision returns how many times the catalog was published as changed.
func (w *world) revision(t *testing.T) int64 {
	t.Helper()
	var row models.Revision
	err := w.db.First(&row, "topic = ?", "catalog").Error
	if err != nil && !errors.Is(err, gorm.ErrRecordNotFound) {
		t.Fatal(err)
	}
	return row.Revision
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}
