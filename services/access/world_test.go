package access_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// clock is a time that moves only when the test says so.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// world is the keys of one database as a process of the gateway sees them.
type world struct {
	*clock
	db    *gorm.DB
	feed  *notify.Feed
	index *access.KeyIndex
	keys  *access.Keys
	auth  *access.ProjectAuth
}

// join opens the database as one more process of the gateway.
func join(t *testing.T, dsn string, c *clock) *world {
	t.Helper()
	db := modelstest.Open(t, dsn)
	feed, err := notify.NewFeed(db, dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{clock: c, db: db, feed: feed, index: access.NewKeyIndex(db, c.Now), keys: access.NewKeys(db, activity.NewAudit(db, c.Now), feed, c.Now)}
	w.auth = access.NewProjectAuth(w.index, noTokens{}, c.Now, time.Minute, c.Now)
	feed.Subscribe(w.index.Changed)
	if err := w.index.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// each runs f on both kinds of database, with a project of mode api_key
// called p and another called q.
func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) { f(t, newWorld(t, dsn)) })
}

// onSQLite returns the same for tests of what no database decides.
func onSQLite(t *testing.T) *world {
	t.Helper()
	return newWorld(t, modelstest.SQLite(t))
}

func newWorld(t *testing.T, dsn string) *world {
	t.Helper()
	w := join(t, dsn, newClock())
	for _, id := range []string{"p", "q"} {
		if err := w.db.Create(project(id, models.AuthAPIKey)).Error; err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func project(id string, mode models.AuthMode) *models.Project {
	return &models.Project{ID: id, Slug: id, Name: id, AuthMode: mode, ToolExposure: models.ExposeFull}
}

// create returns the id and text of a new key of project p.
func (w *world) create(t *testing.T, lifetime time.Duration) (id, text string) {
	t.Helper()
	row, key, err := w.keys.Create(t.Context(), "p", "test", lifetime)
	if err != nil {
		t.Fatal(err)
	}
	return row.ID, key.Reveal()
}

// rotate returns the id and text of the successor of a key of project p.
func (w *world) rotate(t *testing.T, id string, grace time.Duration) (string, string) {
	t.Helper()
	row, key, err := w.keys.Rotate(t.Context(), "p", id, grace)
	if err != nil {
		t.Fatal(err)
	}
	return row.ID, key.Reveal()
}

// admits reports whether the key opens project p.
func (w *world) admits(t *testing.T, key string) bool {
	t.Helper()
	return w.admitsTo(t, "p", key)
}

func (w *world) admitsTo(t *testing.T, projectID, key string) bool {
	t.Helper()
	principal, err := w.auth.Authenticate(t.Context(), project(projectID, models.AuthAPIKey), "Bearer "+key)
	if (err == nil) != principal.Known() {
		t.Fatalf("the principal %+v came with the error %v", principal, err)
	}
	return err == nil
}

// noTokens knows no access token.
type noTokens struct{}

// want fails the test unless err is a fault of the code.
func want(t *testing.T, err error, code fault.Code) fault.Fault {
	t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != code {
		t.Fatalf("got %v, want the fault %s", err, code)
	}
	return *f
}

func (w *world) published(t *testing.T, topics ...notify.Topic) {
	t.Helper()
	err := w.db.Transaction(func(tx *gorm.DB) error { return notify.Touch(tx, topics...) })
	if err == nil {
		err = w.feed.Published(context.Background(), topics...)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func sha(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// Find implements access.Tokens.
func (noTokens) Find(context.Context, *models.Project, string) (access.TokenHolder, bool, error) {
	return access.TokenHolder{}, false, nil
}
