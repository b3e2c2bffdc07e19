package embeddings_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/models/modelstest"
	"mcpgateway/services/notify"
	"mcpgateway/services/toolsearch/embeddings"
)

// transport is an endpoint that can't be reached.
type transport struct{ at []time.Time }

func (f *transport) RoundTrip(*http.Request) (*http.Response, error) {
	f.at = append(f.at, time.Now())
	return nil, errors.New("connection refused")
}

type silent struct{}

func (silent) Publish(context.Context, ...notify.Topic) error { return nil }

// TestFailedBatchesAreSentLessOften changes tools every second, which must not
// shorten the time until a failed batch is sent again.
func TestFailedBatchesAreSentLessOften(t *testing.T) {
	dsn := modelstest.SQLite(t)
	synctest.Test(t, func(t *testing.T) {
		endpoint, current := &transport{}, &projects{}
		e := embeddings.New(embeddings.Options{
			URL: "http://127.0.0.1:1", Model: model, Client: &http.Client{Transport: endpoint}, DB: modelstest.Open(t, dsn), Feed: silent{},
			Projects: current, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
		current.set(project("p", files()...))
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { e.Run(ctx) })
		running.Go(func() { e.Compute(ctx) })
		started := time.Now()
		for i := range 3000 {
			time.Sleep(time.Second)
			if i%60 == 0 {
				current.set(project("p", append(files(), tool(fmt.Sprintf("new_%d", i), ""))...))
				_ = e.Changed(ctx, notify.Toolset("p"))
			}
		}
		cancel()
		running.Wait()
		var got []int
		for _, at := range endpoint.at {
			got = append(got, int(at.Sub(started).Seconds()))
		}
		if want := "[0 10 30 70 150 310 630 1230 1830 2430]"; fmt.Sprint(got) != want {
			t.Errorf("sent after %v seconds, want %s", got, want)
		}
	})
}
