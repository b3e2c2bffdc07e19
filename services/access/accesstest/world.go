// Package accesstest provides the shared fixtures of the access tests: keys and
// projects in a database, and a clock.
package accesstest

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Clock is a manual clock.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock set to 2026-03-01 12:00 UTC.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Set sets the clock.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// World holds the access services of one gateway process and its database.
type World struct {
	*Clock
	DB    *gorm.DB
	Feed  *notify.Feed
	Index *keys.Index
	Keys  *keys.Store
	Auth  *access.ProjectAuth
}

// Join opens the database as an additional gateway process.
func Join(t *testing.T, dsn string, c *Clock) *World {
	t.Helper()
	db := modelstest.Open(t, dsn)
	feed, err := notify.NewFeed(db, dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w := &World{Clock: c, DB: db, Feed: feed, Index: keys.NewIndex(db, c.Now), Keys: keys.New(db, activity.NewAudit(db, c.Now), feed, c.Now)}
	w.Auth = access.NewProjectAuth(w.Index, NoTokens{}, c.Now, time.Minute, c.Now)
	feed.Subscribe(w.Index.Changed)
	if err := w.Index.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// Each runs f on both kinds of database, with the projects p and q in mode
// api_key.
func Each(t *testing.T, f func(t *testing.T, w *World)) {
	t.Helper()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) { f(t, newWorld(t, dsn)) })
}

// OnSQLite returns the World of Each on SQLite only.
func OnSQLite(t *testing.T) *World {
	t.Helper()
	return newWorld(t, modelstest.SQLite(t))
}

func newWorld(t *testing.T, dsn string) *World {
	t.Helper()
	w := Join(t, dsn, NewClock())
	for _, id := range []string{"p", "q"} {
		if err := w.DB.Create(Project(id, models.AuthAPIKey)).Error; err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// Project returns a project row.
func Project(id string, mode models.AuthMode) *models.Project {
	return &models.Project{ID: id, Slug: id, Name: id, AuthMode: mode, ToolExposure: models.ExposeFull}
}

// Create returns the ID and text of a new key of project p.
func (w *World) Create(t *testing.T, lifetime time.Duration) (id, text string) {
	t.Helper()
	row, key, err := w.Keys.Create(t.Context(), "p", "test", lifetime)
	if err != nil {
		t.Fatal(err)
	}
	return row.ID, key.Reveal()
}

// Rotate returns the ID and text of the successor of a key of project p.
func (w *World) Rotate(t *testing.T, id string, grace time.Duration) (string, string) {
	t.Helper()
	row, key, err := w.Keys.Rotate(t.Context(), "p", id, grace)
	if err != nil {
		t.Fatal(err)
	}
	return row.ID, key.Reveal()
}

// Admits reports whether the key is accepted by project p.
func (w *World) Admits(t *testing.T, key string) bool {
	t.Helper()
	return w.AdmitsTo(t, "p", key)
}

// AdmitsTo reports whether the key is accepted by the project.
func (w *World) AdmitsTo(t *testing.T, projectID, key string) bool {
	t.Helper()
	principal, err := w.Auth.Authenticate(t.Context(), Project(projectID, models.AuthAPIKey), "", "Bearer "+key)
	if (err == nil) != principal.IsValid() {
		t.Fatalf("Authenticate() = %+v, %v", principal, err)
	}
	return err == nil
}

// NoTokens implements access.Tokens without any token.
type NoTokens struct{}

// Want fails the test unless err is a fault with the code.
func Want(t *testing.T, err error, code fault.Code) fault.Fault {
	t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != code {
		t.Fatalf("got error %v, want fault %s", err, code)
	}
	return *f
}

// Publish publishes topics as committed changes.
func (w *World) Publish(t *testing.T, topics ...notify.Topic) {
	t.Helper()
	err := w.DB.Transaction(func(tx *gorm.DB) error { return notify.Touch(tx, topics...) })
	if err == nil {
		err = w.Feed.Publish(context.Background(), topics...)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// SHA256 returns the hash of a key's text.
func SHA256(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// Find implements access.Tokens.
func (NoTokens) Find(context.Context, string, string, string) (access.TokenHolder, bool, error) {
	return access.TokenHolder{}, false, nil
}

// QuickDerivation computes hashes of passwords with one SHA-256, which is far
// too quick for real passwords, in place of argon2.IDKey. It ignores the cost.
func QuickDerivation(password, salt []byte, _, _ uint32, _ uint8, length uint32) []byte {
	sum := sha256.Sum256(slices.Concat(salt, password))
	return sum[:length]
}
