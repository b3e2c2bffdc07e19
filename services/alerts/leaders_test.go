package alerts_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/alerts"
	"mcpgateway/services/locks"
	"mcpgateway/services/mail"
	"mcpgateway/services/notify"
	"mcpgateway/services/outbox"
)

// leaders are replicas on one PostgreSQL that compete for the evaluation, with a
// server that is down or up.
type leaders struct {
	dsn string
	db  *gorm.DB

	mu        sync.Mutex
	down      time.Time // zero while the server is up
	evaluated []string  // the replica of each evaluation
	mails     int
	running   map[string]func() // ends a replica
}

// start starts a replica with its own connections, like a process.
func (l *leaders) start(t *testing.T, name string) {
	t.Helper()
	db, now := modelstest.Open(t, l.dsn), func() time.Time { return time.Now().UTC() }
	feed, err := notify.NewFeed(db, l.dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	held, err := locks.Open(t.Context(), db, l.dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	store := alerts.NewStore(db, activity.NewAudit(db, now), feed, now)
	recipients := func(context.Context) ([]string, error) { return []string{"ada@example.com"}, nil }
	evaluator := alerts.NewEvaluator(alerts.EvaluatorOptions{
		Store: store, Events: outbox.New(db, now), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Mail:   alerts.NewAnnouncer(store, l, recipients, "https://gateway.example.com/admin/alerts"),
		Checks: map[string]alerts.Check{alerts.ServerDown: func(context.Context, *alerts.Rule, time.Time) ([]alerts.Finding, error) { return l.check(name), nil }},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { held.RunAsLeader(ctx, "alerts", evaluator.Run) })
	l.running[name] = func() {
		cancel()
		run.Wait()
		if err := held.Close(); err != nil {
			t.Error(err)
		}
	}
}

// check returns the finding of the server, for the evaluation of a replica.
func (l *leaders) check(name string) []alerts.Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.evaluated = append(l.evaluated, name)
	if l.down.IsZero() {
		return nil
	}
	return []alerts.Finding{{Subject: "s", Project: "work", Object: "github", Level: alerts.Bad, Since: l.down}}
}

// On implements alerts.Mailer.
func (l *leaders) On() bool { return true }

// Send implements alerts.Mailer.
func (l *leaders) Send(_ context.Context, messages ...mail.Message) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mails += len(messages)
	return len(messages), nil
}

func (l *leaders) setDown(down time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
}

// leader returns the replica of the last evaluation, and the number of evaluations.
func (l *leaders) leader() (name string, evaluations int) {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.evaluated[len(l.evaluated)-1], len(l.evaluated)
}

// end ends a replica, which releases its locks.
func (l *leaders) end(name string) {
	l.running[name]()
	delete(l.running, name)
}

// cut terminates the connection that holds the lock, like a failed network.
func (l *leaders) cut(t *testing.T) {
	t.Helper()
	var ended []bool
	err := l.db.Raw("SELECT pg_terminate_backend(pid, 60000) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").Scan(&ended).Error
	if err != nil || len(ended) != 1 || !ended[0] {
		t.Fatalf("connections with the lock: %v, %v", ended, err)
	}
}

// want waits in virtual time, and compares the stored events and the messages.
func (l *leaders) want(t *testing.T, after time.Duration, events string, mails int) {
	t.Helper()
	time.Sleep(after)
	synctest.Wait()
	var kinds []string
	if err := l.db.Model(&models.OutboxEvent{}).Order("seq").Pluck("kind", &kinds).Error; err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := strings.ReplaceAll(strings.Join(kinds, " "), "alert.", ""); got != events || l.mails != mails {
		t.Errorf("events %q and %d messages, want %q and %d", got, l.mails, events, mails)
	}
}

// TestLeadersFireAndResolveOnce replaces the leader while an alert is pending, fires
// and clears. Locks and loops are those of the product, in virtual time.
func TestLeadersFireAndResolveOnce(t *testing.T) {
	dsn := modelstest.Postgres(t)
	synctest.Test(t, func(t *testing.T) {
		l := &leaders{dsn: dsn, db: modelstest.Open(t, dsn), running: map[string]func(){}}
		if err := l.db.Create(&models.Destination{ID: "d", Name: "ops", Kind: models.DestinationWebhook, Active: true, CreatedAt: time.Now(), UpdatedAt: time.Now()}).Error; err != nil {
			t.Fatal(err)
		}
		l.start(t, "one")
		synctest.Wait()
		l.start(t, "two")
		l.want(t, time.Minute, "", 0)

		l.setDown(time.Now())
		l.want(t, time.Minute, "", 0)
		if name, _ := l.leader(); name != "one" {
			t.Errorf("leader %s, want one", name)
		}
		l.end("one") // while it is pending
		l.want(t, time.Minute-time.Second, "", 0)
		if name, _ := l.leader(); name != "two" {
			t.Errorf("leader %s, want two", name)
		}
		l.start(t, "three")
		l.want(t, alerts.Interval+time.Second, "fired", 1)

		_, before := l.leader()
		l.want(t, 10*alerts.Interval, "fired", 1)
		if _, after := l.leader(); after-before != 10 {
			t.Errorf("%d evaluations in 10 intervals, want those of one replica", after-before)
		}
		l.cut(t) // while it fires
		l.want(t, time.Minute, "fired", 1)

		l.setDown(time.Time{})
		l.want(t, time.Minute, "fired", 1)
		name, _ := l.leader()
		l.end(name) // while it clears
		l.want(t, alerts.ClearAfter-time.Minute-time.Second, "fired", 1)
		if next, _ := l.leader(); next == name {
			t.Errorf("the leader is still %s", next)
		}
		l.want(t, alerts.Interval+time.Minute, "fired resolved", 2)
		l.want(t, 10*alerts.Interval, "fired resolved", 2)
		for name := range l.running {
			l.end(name)
		}
		var rows []models.Alert
		if err := l.db.Find(&rows).Error; err != nil || len(rows) != 1 || rows[0].State != models.AlertResolved {
			t.Errorf("alerts %+v, %v", rows, err)
		}
	})
}
