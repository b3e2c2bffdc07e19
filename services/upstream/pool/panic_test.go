package pool_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"

	"mcpgateway/services/background"
	"mcpgateway/services/upstream/pool"
	"mcpgateway/services/upstream/upstreamtest"
)

// TestConnectPanicReachesCall calls through a transport that panics in the
// goroutine that connects.
func TestConnectPanicReachesCall(t *testing.T) {
	tasks := background.New(slog.New(slog.NewTextHandler(io.Discard, nil)))
	var broken atomic.Bool
	broken.Store(true)
	up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	p := pool.New(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if broken.Load() {
			panic("broken transport")
		}
		return http.DefaultTransport.RoundTrip(r)
	})}, "1", pool.WithTasks(tasks))
	t.Cleanup(p.Close)
	to := target(up.Start(t))
	var panicked *background.PanicError
	if _, err := p.Call(testContext(t), to, echo("x")); !errors.As(err, &panicked) || tasks.Panics() != 1 {
		t.Fatalf("got %v after %d panics, want the panic", err, tasks.Panics())
	}
	broken.Store(false)
	mustCall(t, p, to, echo("x"))
}
