package inventory_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/inventory"
	"mcpgateway/services/notify"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/credentials"
	"mcpgateway/services/upstream/upstreamtest"
)

// announced records the published topics.
type announced struct {
	mu     sync.Mutex
	topics []notify.Topic
	err    error
}

func (a *announced) Publish(_ context.Context, topics ...notify.Topic) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.topics = append(a.topics, topics...)
	return a.err
}

func (a *announced) take() []notify.Topic {
	a.mu.Lock()
	defer a.mu.Unlock()
	topics := a.topics
	a.topics = nil
	return topics
}

// syncWorld is a database with project p and its server s, with a running
// upstream.
type syncWorld struct {
	*inventory.Syncer
	db   *gorm.DB
	up   *upstreamtest.Server
	feed *announced
	log  *bytes.Buffer

	mu     sync.Mutex
	now    time.Time
	before func() // runs before each sync calls the upstream
}

func plainTool(name, more string) upstreamtest.Tool {
	return upstreamtest.Tool{Definition: fmt.Sprintf(`{"name":%q, "inputSchema":{"type":"object"}%s}`, name, more)}
}

func plainTools(names ...string) []upstreamtest.Tool {
	var tools []upstreamtest.Tool
	for _, name := range names {
		tools = append(tools, plainTool(name, ""))
	}
	return tools
}

func newSyncWorld(t *testing.T, db *gorm.DB, opts upstreamtest.Options) *syncWorld {
	t.Helper()
	w := &syncWorld{db: db, up: upstreamtest.New(opts), feed: &announced{}, log: &bytes.Buffer{}, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	row := models.Server{
		ID: "s", ProjectID: "p", Alias: "jira", AliasFold: "jira", URL: w.up.Start(t), Transport: models.TransportAuto, AuthType: models.UpstreamAuthNone,
		Enabled: true, TimeoutMS: 10_000, SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow, ConfigVersion: 1,
	}
	for _, record := range []any{&models.Project{ID: "p", Slug: "p", AuthMode: models.AuthNone, ToolExposure: models.ExposeFull}, &row} {
		if err := db.Create(record).Error; err != nil {
			t.Fatal(err)
		}
	}
	target := func(row models.Server) *upstream.Target {
		w.mu.Lock()
		before := w.before
		w.mu.Unlock()
		if before != nil {
			before()
		}
		return credentials.NewTarget(row, noSecrets{}, credentials.Rows{})
	}
	clock := func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.now
	}
	w.Syncer = inventory.NewSyncer(inventory.Options{
		DB: db, Pool: newPool(t), Target: target, Feed: w.feed, Now: clock, Log: slog.New(slog.NewTextHandler(w.log, nil)),
	})
	return w
}

// editServer updates fields of a server of project p, like an administrator.
func editServer(t *testing.T, db *gorm.DB, id string, fields map[string]any) {
	t.Helper()
	err := db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Model(&models.Server{}).Where("id = ?", id).Updates(fields).Error; err != nil {
			return err
		}
		return notify.Touch(tx, notify.Toolset("p"))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func eachSyncWorld(t *testing.T, opts upstreamtest.Options, f func(t *testing.T, w *syncWorld)) {
	t.Helper()
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) { f(t, newSyncWorld(t, db, opts)) })
}

func (w *syncWorld) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *syncWorld) beforeList(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = f
}

func (w *syncWorld) mustSync(t *testing.T) inventory.SyncResult {
	t.Helper()
	r, err := w.Sync(testContext(t), "s")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// changed returns the added, changed and removed tools as one line.
func changed(r inventory.SyncResult) string {
	return fmt.Sprintf("+%v ~%v -%v =%d", r.Added, r.Changed, r.Removed, r.Total)
}

func (w *syncWorld) tools(t *testing.T) []models.Tool {
	t.Helper()
	var rows []models.Tool
	if err := w.db.Order("position").Find(&rows, "server_id = ?", "s").Error; err != nil {
		t.Fatal(err)
	}
	return rows
}

func (w *syncWorld) inventory(t *testing.T) *models.Inventory {
	t.Helper()
	var row models.Inventory
	if err := w.db.First(&row, "server_id = ?", "s").Error; err != nil {
		t.Fatal(err)
	}
	return &row
}

func (w *syncWorld) revision(t *testing.T) int64 {
	t.Helper()
	var row models.Revision
	err := w.db.First(&row, "topic = ?", string(notify.Toolset("p"))).Error
	if err != nil && !errors.Is(err, gorm.ErrRecordNotFound) {
		t.Fatal(err)
	}
	return row.Revision
}

// wantTouched checks that the last sync incremented the revision by one and
// announced it, or did neither.
func (w *syncWorld) wantTouched(t *testing.T, before int64, touched bool) {
	t.Helper()
	want := before
	var topics []notify.Topic
	if touched {
		want++
		topics = []notify.Topic{notify.Toolset("p")}
	}
	if got := w.revision(t); got != want {
		t.Errorf("revision changed from %d to %d", before, got)
	}
	if d := cmp.Diff(topics, w.feed.take()); d != "" {
		t.Errorf("announced (-want +got):\n%s", d)
	}
}
