//go:build ha

package main_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	probeEvery   = 50 * time.Millisecond
	probeTimeout = time.Second
)

// balancer is a round-robin load balancer. It polls /readyz and retries a
// request only if its connection was refused, so that no call is sent twice.
// While no replica is ready, it uses all of them.
type balancer struct {
	*httptest.Server
	transport http.Transport
	backends  []*backend
	turn      atomic.Uint64

	cut    atomic.Int64 // requests whose connection to the replica failed
	resent atomic.Int64
}

type backend struct {
	host  string
	ready atomic.Bool
}

// newBalancer returns a balancer for the replicas. It runs until the end of the
// test.
func newBalancer(t *testing.T, bases ...string) *balancer {
	t.Helper()
	b := &balancer{transport: http.Transport{MaxIdleConnsPerHost: 64}}
	ctx, cancel := context.WithCancel(context.Background())
	var probing sync.WaitGroup
	for _, base := range bases {
		u, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		backend := &backend{host: u.Host}
		b.backends = append(b.backends, backend)
		probing.Go(func() { backend.probe(ctx) })
	}
	b.Server = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(*httputil.ProxyRequest) {}, Transport: b, FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			b.cut.Add(1)
			w.WriteHeader(http.StatusBadGateway)
		},
	})
	t.Cleanup(func() {
		cancel()
		probing.Wait()
		b.Close()
		b.transport.CloseIdleConnections()
	})
	return b
}

// probe polls the replica's readiness until ctx is done.
func (b *backend) probe(ctx context.Context) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		asking, cancel := context.WithTimeout(ctx, probeTimeout)
		status, _, _, err := send(asking, http.MethodGet, "http://"+b.host+"/readyz", "", nil)
		cancel()
		b.ready.Store(err == nil && status == http.StatusOK)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// pick returns the next ready replica, or the next of all if none is ready.
func (b *balancer) pick() *backend {
	turn := b.turn.Add(1)
	for i := range b.backends {
		if next := b.backends[(turn+uint64(i))%uint64(len(b.backends))]; next.ready.Load() {
			return next
		}
	}
	return b.backends[turn%uint64(len(b.backends))]
}

// RoundTrip implements http.RoundTripper. It sends the request to a replica.
func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	for {
		chosen := b.pick()
		out := r.Clone(r.Context())
		out.URL.Scheme, out.URL.Host = "http", chosen.host
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		response, err := b.transport.RoundTrip(out)
		if !errors.Is(err, syscall.ECONNREFUSED) || r.Context().Err() != nil {
			return response, err
		}
		chosen.ready.Store(false)
		b.resent.Add(1)
	}
}
