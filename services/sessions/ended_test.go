package sessions_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/sessions"
)

// process is a gateway process with its index and change feed.
type process struct {
	*sessions.Ended
	db  *gorm.DB
	now time.Time
}

func start(t *testing.T, dsn string, now time.Time) *process {
	t.Helper()
	p := &process{db: modelstest.Open(t, dsn), now: now}
	feed, err := notify.NewFeed(p.db, dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p.Ended = sessions.NewEnded(p.db, feed, 3, func() time.Time { return p.now })
	feed.Subscribe(p.Changed)
	if err := p.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) rows(t *testing.T) (n int64) {
	t.Helper()
	if err := p.db.Model(&models.EndedSession{}).Count(&n).Error; err != nil {
		t.Fatal(err)
	}
	return n
}

func TestEndedSessionReachesEveryProcess(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		// The second clock is slow by less than the overlap.
		one, two := start(t, dsn, now), start(t, dsn, now.Add(-5*time.Minute))
		a, b, c := sessions.HashOf("a"), sessions.HashOf("b"), sessions.HashOf("c")
		for range 2 {
			if err := one.End(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		if !one.IsEnded(a) || one.IsEnded(b) || one.rows(t) != 1 {
			t.Errorf("one process: %v %v, %d rows", one.IsEnded(a), one.IsEnded(b), one.rows(t))
		}
		if two.IsEnded(a) {
			t.Error("the other process has the session before Changed")
		}
		if err := two.Changed(t.Context(), notify.Keys("p")); err != nil || two.IsEnded(a) {
			t.Errorf("another topic was acted on (%v)", err)
		}
		if err := two.Changed(t.Context(), notify.Sessions()); err != nil || !two.IsEnded(a) {
			t.Errorf("the other process lacks the session after Changed (%v)", err)
		}
		if err := two.End(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if err := one.Changed(t.Context(), notify.Sessions()); err != nil || !one.IsEnded(b) {
			t.Errorf("a session ended by a process with a slow clock is missing (%v)", err)
		}
		later := start(t, dsn, now)
		if !later.IsEnded(a) || !later.IsEnded(b) || later.IsEnded(c) {
			t.Error("a process that starts later lacks the ended sessions")
		}
	})
}

func TestExpiredSessionsAreSwept(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		begin := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		p := start(t, dsn, begin)
		a, b := sessions.HashOf("a"), sessions.HashOf("b")
		if err := p.End(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			age  time.Duration
			kept bool
		}{{sessions.Lifetime - time.Millisecond, true}, {sessions.Lifetime, false}, {sessions.Lifetime + time.Millisecond, false}} {
			if q := start(t, dsn, begin.Add(c.age)); q.IsEnded(a) != c.kept {
				t.Errorf("started after %v: known is %v, want %v", c.age, q.IsEnded(a), c.kept)
			}
		}
		p.now = begin.Add(sessions.Lifetime)
		if err := p.End(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if p.IsEnded(a) || !p.IsEnded(b) || p.rows(t) != 1 {
			t.Errorf("expired sessions remain: %v, %d rows", p.IsEnded(a), p.rows(t))
		}
	})
}

func TestMaxEnded(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	p := start(t, modelstest.SQLite(t), now)
	for _, c := range []struct {
		id  string
		fit bool
	}{{"1", true}, {"2", true}, {"3", true}, {"4", false}, {"3", true}, {"5", false}} {
		err := p.End(t.Context(), sessions.HashOf(c.id))
		if c.fit && err != nil || !c.fit && (!fault.Is(err, fault.CodeRateLimited) || fault.From(err).RetryAfter <= 0) {
			t.Errorf("session %s: %v", c.id, err)
		}
		if p.IsEnded(sessions.HashOf(c.id)) != c.fit {
			t.Errorf("session %s: ended is %v", c.id, !c.fit)
		}
	}
	p.now = now.Add(sessions.Lifetime)
	if err := p.End(t.Context(), sessions.HashOf("4")); err != nil {
		t.Errorf("after the others have expired: %v", err)
	}
}

func TestDatabaseErrorsAreReturned(t *testing.T) {
	p := start(t, modelstest.SQLite(t), time.Now())
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	a := sessions.HashOf("a")
	for name, err := range map[string]error{"end": p.End(gone, a), "load": p.Load(gone), "changed": p.Changed(gone, notify.Sessions())} {
		if !fault.Is(err, fault.CodeInternal) && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			t.Errorf("%s reports no failure", name)
		}
	}
	if p.IsEnded(a) {
		t.Error("a session that failed to be stored is ended")
	}
}
