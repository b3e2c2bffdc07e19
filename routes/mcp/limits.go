package mcp

import (
	"sync"
	"time"

	"mcpgateway/services/fault"
)

// Limits for open streams and pending requests (contract, "Limits").
const (
	maxStreamsPerPrincipal = 256
	// streamDelay is the time after which the response of a running call becomes a
	// stream. Its keep-alive comments prevent timeouts of proxies and clients.
	streamDelay = 15 * time.Second
	// maxAsks is the maximum number of pending requests to the client of a
	// session.
	maxAsks = 64
	// maxPosted is the maximum number of concurrent requests of an HTTP+SSE
	// session.
	maxPosted = 16
	// listenTimeout is the maximum time for subscribing to resources before a
	// stream starts. Resources that take longer are not agreed.
	listenTimeout = 5 * time.Second
	// streamRetry is the Retry-After when too many streams or requests are
	// open.
	streamRetry = 10 * time.Second
)

// streamLimiter limits the open streams, per principal and in total.
type streamLimiter struct {
	mu    sync.Mutex
	max   int
	total int
	used  map[string]int // by principal; no zeros
}

func newSlots(max int) *streamLimiter { return &streamLimiter{max: max, used: map[string]int{}} }

// take acquires a slot and returns the function that releases it, or
// RATE_LIMITED.
func (s *streamLimiter) take(principal string) (free func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[principal] >= maxStreamsPerPrincipal || s.total >= s.max {
		f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "Too many streams are open. Close some or retry later.")
		f.RetryAfter = streamRetry
		return nil, f
	}
	s.total++
	s.used[principal]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.total--
		if s.used[principal]--; s.used[principal] == 0 {
			delete(s.used, principal)
		}
	}), nil
}

// OpenStreams returns the number of open client streams.
func (e *Endpoint) OpenStreams() int {
	e.slots.mu.Lock()
	defer e.slots.mu.Unlock()
	return e.slots.total
}
