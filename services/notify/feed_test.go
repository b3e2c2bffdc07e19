package notify_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/notify"
)

func TestChangeReachesOtherProcess(t *testing.T) {
	t.Parallel()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a, b := start(t, dsn), start(t, dsn)
		a.run(t)
		b.run(t)
		a.awaitFresh(t)
		b.awaitFresh(t)

		// Other processes share the CPU, so one fast round is enough.
		rounds, took := 0, time.Duration(0)
		for rounds == 0 || took > 5*time.Second && rounds < 3 {
			rounds++
			began := time.Now()
			a.publish(t, notify.Keys("p"))
			if a.count(notify.Keys("p")) != rounds {
				t.Error("Publish returned before its own subscribers ran")
			}
			b.await(t, notify.Keys("p"), rounds)
			took = time.Since(began)
		}
		if took > 5*time.Second {
			t.Errorf("took %v", took)
		}

		b.change(t, notify.Toolset("p"), notify.Keys("p"))
		a.await(t, notify.Toolset("p"), 1)
		a.await(t, notify.Keys("p"), rounds+1)
		b.await(t, notify.Toolset("p"), 1)
	})
}

func TestEchoIsNotProcessedAgain(t *testing.T) {
	t.Parallel()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a, b := start(t, dsn), start(t, dsn)
		a.run(t)
		b.run(t)
		a.awaitFresh(t)
		const changes = 5
		for i := range changes {
			a.publish(t, "projects")
			b.await(t, "projects", i+1)
		}
		// b's next change is received after every echo.
		b.change(t, "marker")
		a.await(t, "marker", 1)
		a.awaitFresh(t)
		b.awaitFresh(t)
		if n := a.count("projects"); n != changes {
			t.Errorf("own process: %d topics for %d changes", n, changes)
		}
		if n := b.count("projects"); n != changes {
			t.Errorf("other process: %d topics for %d changes", n, changes)
		}
	})
}

func TestRolledBackChangeIsNotPublished(t *testing.T) {
	t.Parallel()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a, b := start(t, dsn), start(t, dsn)
		b.run(t)
		b.awaitFresh(t)
		stop := errors.New("stop")
		if err := a.db.Transaction(func(tx *gorm.DB) error {
			return errors.Join(notify.Touch(tx, "projects"), stop)
		}); !errors.Is(err, stop) {
			t.Fatal(err)
		}
		a.change(t, "marker")
		b.await(t, "marker", 1)
		b.awaitFresh(t)
		if got := b.topics(); !slices.Equal(got, []notify.Topic{"marker"}) {
			t.Errorf("received topics = %v", got)
		}
	})
}

func TestEarlierChangesAreNotPublished(t *testing.T) {
	t.Parallel()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		writer := start(t, dsn)
		writer.change(t, "before")
		p := start(t, dsn)
		writer.change(t, "between")
		p.run(t)
		p.await(t, "between", 1)
		p.awaitFresh(t)
		if got := p.topics(); !slices.Equal(got, []notify.Topic{"between"}) {
			t.Errorf("received topics = %v", got)
		}
	})
}

func TestFailingSubscriberIsRetried(t *testing.T) {
	t.Parallel()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		p := start(t, dsn)
		broken := errors.New("broken")
		var repaired atomic.Bool
		p.respond = func(_ context.Context, topic notify.Topic) error {
			if topic == "projects" && !repaired.Load() {
				return broken
			}
			return nil
		}
		var others atomic.Int64
		p.feed.Subscribe(func(_ context.Context, topic notify.Topic) error {
			others.Add(1)
			return nil
		})
		p.run(t)
		p.awaitFresh(t)

		p.change(t, "projects", "other")
		if err := p.feed.Publish(t.Context(), "projects", "other"); err != nil && !errors.Is(err, broken) {
			t.Errorf("Publish() = %v", err)
		}
		if p.count("other") != 1 || others.Load() < 2 {
			t.Error("failure blocked another topic or subscriber")
		}
		p.await(t, "projects", 3)
		stale := p.feed.CaughtUpAt()
		p.await(t, "projects", p.count("projects")+1)
		if p.feed.CaughtUpAt().After(stale) {
			t.Error("Fresh advances while a subscriber fails")
		}
		repaired.Store(true)
		p.awaitFresh(t)
		received := p.count("projects")
		p.awaitFresh(t)
		if p.count("projects") != received || p.count("other") != 1 {
			t.Errorf("processed topics were received again: %v", p.topics())
		}
	})
}

func TestPublishedReturnsLocalError(t *testing.T) {
	t.Parallel()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		p := start(t, dsn)
		broken := errors.New("broken")
		p.respond = func(context.Context, notify.Topic) error { return broken }
		p.change(t, "projects")
		if err := p.feed.Publish(t.Context(), "projects"); !errors.Is(err, broken) {
			t.Errorf("Publish() = %v", err)
		}
		p.respond = nil
		if err := p.feed.Publish(t.Context(), "projects"); err != nil || p.count("projects") != 2 {
			t.Errorf("second attempt: %v, received %d times", err, p.count("projects"))
		}
		if err := p.feed.Publish(t.Context(), "projects"); err != nil || p.count("projects") != 2 {
			t.Errorf("without a change: %v, received %d times", err, p.count("projects"))
		}
		if err := p.feed.Publish(t.Context()); err != nil {
			t.Errorf("without a topic: %v", err)
		}
	})
}

func TestInterruptedPublishedIsCompleted(t *testing.T) {
	t.Parallel()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		p := start(t, dsn)
		p.run(t)
		p.awaitFresh(t)
		p.change(t, "projects")
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		// Run may have been faster. Then nothing is interrupted.
		if err := p.feed.Publish(ended, "projects"); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Publish() = %v", err)
		}
		p.await(t, "projects", 1)
		p.awaitFresh(t)
	})
}

func TestPublishingSubscriberDoesNotBlock(t *testing.T) {
	t.Parallel()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		p := start(t, dsn)
		p.respond = func(ctx context.Context, topic notify.Topic) error {
			if topic != "cause" {
				return nil
			}
			if err := notify.Touch(p.db.WithContext(ctx), "effect"); err != nil {
				return err
			}
			return p.feed.Publish(ctx, "effect")
		}
		p.run(t)
		p.publish(t, "cause")
		p.await(t, "effect", 1)
		p.awaitFresh(t)
		if p.count("cause") != 1 || p.count("effect") != 1 {
			t.Errorf("received topics = %v", p.topics())
		}
	})
}

func TestTopicsAreProcessedOneAtATime(t *testing.T) {
	t.Parallel()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		p := start(t, dsn)
		var running atomic.Int64
		p.respond = func(context.Context, notify.Topic) error {
			if running.Add(1) != 1 {
				t.Error("two topics are processed concurrently")
			}
			defer running.Add(-1)
			return nil
		}
		p.run(t)
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				topic := notify.Topic(fmt.Sprint(i))
				if err := notify.Touch(p.db, topic); err != nil {
					t.Error(err)
				}
				if err := p.feed.Publish(context.Background(), topic); err != nil {
					t.Error(err)
				}
				if p.count(topic) != 1 {
					t.Errorf("%s was received %d times", topic, p.count(topic))
				}
			})
		}
		wg.Wait()
	})
}

func TestManyTopicsAtOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{499, 500, 501} {
		modelstest.EachDSN(t, func(t *testing.T, dsn string) {
			p := start(t, dsn)
			var topics []notify.Topic
			for i := range n {
				topics = append(topics, notify.Topic(fmt.Sprint(i)))
			}
			p.publish(t, topics...)
			if got := len(p.topics()); got != n {
				t.Errorf("%d of %d topics were received", got, n)
			}
		})
	}
}

func TestRestoredDatabaseIsProcessed(t *testing.T) {
	t.Parallel()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		p := start(t, dsn)
		p.run(t)
		p.publish(t, "back")
		p.publish(t, "back", "gone")
		other := modelstest.Open(t, dsn)
		if err := other.Model(&models.Revision{}).Where("topic = ?", "back").Update("revision", 1).Error; err != nil {
			t.Fatal(err)
		}
		if err := other.Delete(&models.Revision{Topic: "gone"}).Error; err != nil {
			t.Fatal(err)
		}
		// PostgreSQL doesn't announce this. A failed Publish makes the feed
		// check everything without waiting for its regular check.
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		p.change(t, "marker")
		_ = p.feed.Publish(ended, "marker")
		p.await(t, "back", 3)
		p.await(t, "gone", 2)
	})
}

func TestLostConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	dsn := modelstest.Postgres(t)
	a, b := start(t, dsn), start(t, dsn)
	b.run(t)
	b.awaitFresh(t)
	for i := range 3 {
		var cut int64
		err := a.db.Raw(`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'gateway change feed 2'`).Scan(&cut).Error
		if err != nil {
			t.Fatal(err)
		}
		if cut != 1 {
			t.Errorf("%d connections were terminated, want 1", cut)
		}
		a.change(t, "projects") // while nothing listens
		b.await(t, "projects", i+1)
		b.awaitFresh(t)
		a.publish(t, "keys:p") // received on the new connection
		b.await(t, "keys:p", i+1)
		b.awaitFresh(t)
	}
}

func TestFreshStopsWithoutDatabase(t *testing.T) {
	t.Parallel()
	dsn := modelstest.Postgres(t)
	p := start(t, dsn)
	p.run(t)
	p.awaitFresh(t)
	admin := start(t, modelstest.Postgres(t))
	var name string
	if err := p.db.Raw("SELECT current_database()").Scan(&name).Error; err != nil {
		t.Fatal(err)
	}
	lock := func(allow bool) {
		t.Helper()
		if err := admin.db.Exec(fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS %v", name, allow)).Error; err != nil {
			t.Fatal(err)
		}
	}
	lock(false)
	if err := admin.db.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ?", name).Error; err != nil {
		t.Fatal(err)
	}
	// Changes from now on cannot have been processed.
	began := time.Now()
	deadline := time.After(3 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting; {
		select {
		case <-tick.C:
			if p.feed.CaughtUpAt().After(began) {
				t.Fatal("Fresh advances without the database")
			}
		case <-deadline:
			waiting = false
		}
	}
	lock(true)
	p.awaitFresh(t)
}

func TestNewFeedRequiresDatabase(t *testing.T) {
	t.Parallel()
	db := modelstest.Open(t, modelstest.SQLite(t))
	log := slog.New(slog.DiscardHandler)
	for _, dsn := range []string{"", "gateway.db", "postgres:///gateway"} {
		if _, err := notify.NewFeed(db, dsn, log); err == nil {
			t.Errorf("NewFeed accepted address %q for a SQLite database", dsn)
		}
	}
	modelstest.EachEmptyDSN(t, func(t *testing.T, dsn string) {
		if _, err := notify.NewFeed(modelstest.Open(t, dsn), dsn, log); err == nil {
			t.Error("NewFeed accepted a database without a schema")
		}
	})
}
