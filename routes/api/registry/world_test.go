package registry_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/migrations"
	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/api/registry"
	"mcpgateway/services/activity"
	"mcpgateway/services/catalog"
	"mcpgateway/services/egress"
	"mcpgateway/services/notify"
	"mcpgateway/services/page"
	"mcpgateway/services/secrets"
	"mcpgateway/web"
	"mcpgateway/web/conn"
	"mcpgateway/web/webtest"
)

// quiet is a feed without subscribers.
type quiet struct{}

func (quiet) Publish(context.Context, ...notify.Topic) error { return nil }

// catalogWorld is the catalog with its routes.
type catalogWorld struct {
	app     *fiber.App
	store   *catalog.Store
	catalog *catalog.Catalog
}

func newCatalogWorld(t testing.TB, dsn string, limits ...fiber.Handler) *catalogWorld {
	t.Helper()
	db, err := models.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	if _, err := migrations.Up(t.Context(), pool, db.Name()); err != nil {
		t.Fatal(err)
	}
	ring, err := secrets.ParseKeyRing("test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	clients := egress.NewClients(egress.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}))
	t.Cleanup(clients.Close)
	w := &catalogWorld{
		store:   catalog.NewStore(db, clients.Catalog(), activity.NewAudit(db, now), quiet{}, now),
		catalog: catalog.New(db, page.NewCursors(ring), ring.ActiveKID(), log, nil),
	}
	if err := w.store.LoadDefaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.load(t)
	public, err := url.Parse("http://127.0.0.1:8080")
	if err != nil {
		t.Fatal(err)
	}
	w.app = web.New(web.Options{Names: web.NewNames(public, nil, nil, true), Log: log})
	servers, templates, v01 := registry.New(w.catalog), registry.NewTemplates(w.catalog), registry.NewV01(w.catalog)
	before := append([]fiber.Handler{web.PublicCORS}, limits...)
	for path, handler := range map[string]fiber.Handler{
		"/api/registry": servers.List, "/api/templates": templates.List,
		"/v0.1/servers": v01.List, "/v0.1/servers/:name/versions": v01.Versions, "/v0.1/servers/:name/versions/:version": v01.Version,
	} {
		w.app.Get(path, append(before[:len(before):len(before)], handler)...)
		w.app.Options(path, append(before[:len(before):len(before)], web.PublicPreflight)...)
	}
	return w
}

func onSQLiteCatalog(t *testing.T, limits ...fiber.Handler) *catalogWorld {
	t.Helper()
	return newCatalogWorld(t, modelstest.SQLite(t), limits...)
}

func (w *catalogWorld) load(t testing.TB) {
	t.Helper()
	if err := w.catalog.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// get sends a GET, checks the status and decodes the body.
func (w *catalogWorld) get(t *testing.T, path string, status int, into any) webtest.Response {
	t.Helper()
	answer := webtest.Send(t, w.app, webtest.Case{Method: http.MethodGet, Path: path, Header: map[string]string{"Accept": "application/json"}})
	if answer.Status != status {
		t.Fatalf("%s: %d, want %d; %s", path, answer.Status, status, answer.Body)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(answer.Body), into); err != nil {
			t.Fatalf("%s: %v; %s", path, err, answer.Body)
		}
	}
	return answer
}

// listenOn serves the application on a loopback port until the test ends and
// returns its address.
func listenOn(t *testing.T, app *fiber.App) string {
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
	return "http://" + listener.Addr().String()
}
