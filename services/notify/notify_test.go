package notify_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/notify"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// testTimeout is the timeout for events that must happen.
const testTimeout = 30 * time.Second

// process is a gateway process: a pool, a feed and its received topics.
type process struct {
	db   *gorm.DB
	feed *notify.Feed

	mu       sync.Mutex
	received []notify.Topic
	news     chan struct{} // receives a token for each topic
	respond  func(ctx context.Context, topic notify.Topic) error
}

// start returns a process on the database. Its feed isn't running.
func start(t *testing.T, dsn string) *process {
	t.Helper()
	p := &process{db: modelstest.Open(t, dsn), news: make(chan struct{}, 1000)}
	feed, err := notify.NewFeed(p.db, dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p.feed = feed
	feed.Subscribe(func(ctx context.Context, topic notify.Topic) error {
		p.mu.Lock()
		p.received = append(p.received, topic)
		respond := p.respond
		p.mu.Unlock()
		p.news <- struct{}{}
		if respond == nil {
			return nil
		}
		return respond(ctx, topic)
	})
	return p
}

// run runs the feed until the test ends.
func (p *process) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.feed.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run() = %v", err)
			}
		case <-time.After(testTimeout):
			t.Error("Run did not end with its context")
		}
	})
}

// topics returns the topics that the process has received.
func (p *process) topics() []notify.Topic {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.received)
}

// await returns after the process received topic n times.
func (p *process) await(t *testing.T, topic notify.Topic, n int) {
	t.Helper()
	deadline := time.After(testTimeout)
	for p.count(topic) < n {
		select {
		case <-p.news:
		case <-deadline:
			t.Fatalf("fewer than %[2]d topics %[1]s: %[3]v", topic, n, p.topics())
		}
	}
}

func (p *process) count(topic notify.Topic) int {
	n := 0
	for _, received := range p.topics() {
		if received == topic {
			n++
		}
	}
	return n
}

// change commits a change of the topics without publishing it, like a command
// in another process.
func (p *process) change(t *testing.T, topics ...notify.Topic) {
	t.Helper()
	if err := p.db.Transaction(func(tx *gorm.DB) error { return notify.Touch(tx, topics...) }); err != nil {
		t.Fatal(err)
	}
}

// publish commits a change of the topics and publishes it.
func (p *process) publish(t *testing.T, topics ...notify.Topic) {
	t.Helper()
	p.change(t, topics...)
	if err := p.feed.Publish(t.Context(), topics...); err != nil {
		t.Fatal(err)
	}
}

// awaitFresh returns when the feed has processed everything up to now.
func (p *process) awaitFresh(t *testing.T) {
	t.Helper()
	now := time.Now()
	deadline := time.After(testTimeout)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !p.feed.CaughtUpAt().After(now) {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("Fresh() is %v ago", time.Since(p.feed.CaughtUpAt()))
		}
	}
}

func revision(t *testing.T, db *gorm.DB, topic notify.Topic) int64 {
	t.Helper()
	var row models.Revision
	err := db.Take(&row, "topic = ?", topic).Error
	if err != nil && !errors.Is(err, gorm.ErrRecordNotFound) {
		t.Fatal(err)
	}
	return row.Revision
}
