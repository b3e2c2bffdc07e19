package sessions_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/notify"
	"mcpgateway/services/secrets"
	"mcpgateway/services/sessions"
)

// finished is a gateway process with the results in a database.
type finished struct {
	*sessions.Finished
	db  *gorm.DB
	now time.Time
}

func newFinished(t *testing.T, dsn string, now time.Time, keys string) *finished {
	t.Helper()
	p := &finished{db: modelstest.Open(t, dsn), now: now}
	feed, err := notify.NewFeed(p.db, dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ring, err := secrets.ParseKeyRing(keys)
	if err != nil {
		t.Fatal(err)
	}
	p.Finished = sessions.NewFinished(p.db, feed, ring, func() time.Time { return p.now }, slog.New(slog.DiscardHandler))
	feed.Subscribe(p.Changed)
	return p
}

const (
	oneKey   = "test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	otherKey = "other:ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="
)

func (p *finished) project(t *testing.T, id string) {
	t.Helper()
	if err := p.db.Create(&models.Project{ID: id, Slug: id, Name: id, AuthMode: models.AuthNone, ToolExposure: models.ExposeFull, CreatedAt: p.now, UpdatedAt: p.now}).Error; err != nil {
		t.Fatal(err)
	}
}

func (p *finished) found(t *testing.T, session, id string) (string, bool) {
	t.Helper()
	response, found, err := p.Find(t.Context(), session, id)
	if err != nil {
		t.Fatal(err)
	}
	return string(response), found
}

func TestFinishedResult(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		one, two := newFinished(t, dsn, now, oneKey), newFinished(t, dsn, now, oneKey)
		stranger := newFinished(t, dsn, now, otherKey)
		one.project(t, "p")
		changed, stop := one.Watch("session a")
		elsewhere, stopElsewhere := one.Watch("other session")
		defer stopElsewhere()
		one.Store(t.Context(), "p", "session a", "1", []byte(`{"secret":1}`))
		one.Store(t.Context(), "p", "session a", "1", []byte(`{"second":1}`))
		one.Store(t.Context(), "p", "session b", "2", nil)
		select {
		case <-changed:
		default:
			t.Error("the watcher was not woken")
		}
		select {
		case <-elsewhere:
			t.Error("a watcher of another session was woken")
		default:
		}
		stop()
		if err := one.Changed(t.Context(), notify.Sessions()); err != nil {
			t.Error(err)
		}
		for _, c := range []struct {
			at                *finished
			session, id, want string
			found             bool
		}{
			{one, "session a", "1", `{"secret":1}`, true},
			{two, "session a", "1", `{"secret":1}`, true},
			{two, "session b", "2", "", true},
			{two, "session b", "1", "", false},
			{two, "session a", "3", "", false},
			{stranger, "session a", "1", "", true},
		} {
			if got, found := c.at.found(t, c.session, c.id); got != c.want || found != c.found {
				t.Errorf("%s/%s: %q, %v", c.session, c.id, got, found)
			}
		}
		var row models.FinishedResult
		if err := one.db.First(&row, "id = '1'").Error; err != nil || strings.Contains(row.Result, "secret") || !strings.HasPrefix(row.Result, "v1:test:") {
			t.Errorf("%+v, %v", row, err)
		}
		if err := two.End(t.Context(), "session a"); err != nil {
			t.Fatal(err)
		}
		if _, found := one.found(t, "session a", "1"); found {
			t.Error("the result of an ended session is found")
		}
		for _, c := range []struct {
			age   time.Duration
			found bool
		}{{sessions.FinishedLifetime - time.Millisecond, true}, {sessions.FinishedLifetime, false}, {sessions.FinishedLifetime + time.Millisecond, false}} {
			one.now = now.Add(c.age)
			if _, found := one.found(t, "session b", "2"); found != c.found {
				t.Errorf("after %v: %v", c.age, found)
			}
			var rows int64
			if err := one.Sweep(t.Context()); err != nil || one.db.Model(&models.FinishedResult{}).Count(&rows).Error != nil || rows == 1 != c.found {
				t.Errorf("swept after %v: %d rows, %v", c.age, rows, err)
			}
		}
	})
}

func TestMaxFinishedSize(t *testing.T) {
	p := newFinished(t, modelstest.SQLite(t), time.Now().UTC(), oneKey)
	p.project(t, "p")
	for i, size := range []int{sessions.MaxFinishedSize - 1, sessions.MaxFinishedSize, sessions.MaxFinishedSize + 1} {
		id := fmt.Sprint(i)
		p.Store(t.Context(), "p", "session", id, []byte(strings.Repeat("x", size)))
		if size > sessions.MaxFinishedSize {
			size = 0
		}
		if got, found := p.found(t, "session", id); len(got) != size || !found {
			t.Errorf("%d: %d bytes, want %d; %v", i, len(got), size, found)
		}
	}
}

func TestMaxFinished(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		p := newFinished(t, dsn, now, oneKey)
		p.project(t, "p")
		p.project(t, "q")
		rows := make([]models.FinishedResult, sessions.MaxFinished-1)
		for i := range rows {
			at := now.Add(time.Duration(i-len(rows)) * time.Millisecond)
			rows[i] = models.FinishedResult{ID: fmt.Sprint("old ", i), Session: "session", ProjectID: "p", CreatedAt: at, ExpiresAt: at.Add(sessions.FinishedLifetime)}
		}
		if err := p.db.CreateInBatches(rows, 100).Error; err != nil {
			t.Fatal(err)
		}
		p.Store(t.Context(), "q", "session", "other", []byte("{}"))
		for i, first := range []string{"old 0", "old 1", "old 2"} {
			p.now = now.Add(time.Duration(i) * time.Millisecond)
			p.Store(t.Context(), "p", "session", fmt.Sprint("new ", i), []byte("{}"))
			var held []models.FinishedResult
			if err := p.db.Order("created_at, id").Find(&held, "project_id = 'p'").Error; err != nil {
				t.Fatal(err)
			}
			if len(held) != sessions.MaxFinished || held[0].ID != first {
				t.Errorf("%d more: %d rows from %s, want from %s", i+1, len(held), held[0].ID, first)
			}
		}
		if _, found := p.found(t, "session", "other"); !found {
			t.Error("the result of another project was deleted")
		}
	})
}
