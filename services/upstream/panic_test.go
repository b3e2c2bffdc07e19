package upstream_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"

	"gorm.io/gorm"

	"mcpgateway/models/modelstest"
	"mcpgateway/services/background"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest"
)

// TestACallGetsThePanicOfItsConnection calls through a transport that panics in
// the goroutine that connects.
func TestACallGetsThePanicOfItsConnection(t *testing.T) {
	tasks := background.New(slog.New(slog.NewTextHandler(io.Discard, nil)))
	var broken atomic.Bool
	broken.Store(true)
	up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	p := upstream.NewPool(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if broken.Load() {
			panic("broken transport")
		}
		return http.DefaultTransport.RoundTrip(r)
	})}, "1", upstream.WithTasks(tasks))
	t.Cleanup(p.Close)
	to := target(up.Start(t))
	var panicked *background.PanicError
	if _, err := p.Call(testContext(t), to, echo("x")); !errors.As(err, &panicked) || tasks.Panics() != 1 {
		t.Fatalf("got %v after %d panics, want the panic", err, tasks.Panics())
	}
	broken.Store(false)
	mustCall(t, p, to, echo("x"))
}

func TestASyncReturnsItsPanic(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		w := newSyncWorld(t, db, upstreamtest.Options{Tools: plainTools("a")})
		w.mu.Lock()
		w.before = func() { panic("broken target") }
		w.mu.Unlock()
		var panicked *background.PanicError
		if _, err := w.Sync(context.Background(), "s"); !errors.As(err, &panicked) {
			t.Fatalf("got %v, want the panic", err)
		}
		w.mu.Lock()
		w.before = nil
		w.mu.Unlock()
		if _, err := w.Sync(testContext(t), "s"); err != nil {
			t.Errorf("the next sync failed: %v", err)
		}
	})
}
