package mcp

import (
	"sync"
	"time"

	"mcpgateway/services/fault"
)

// Bounds of what clients may keep open (contract, "Limits").
const (
	maxStreamsPerPrincipal = 256
	// hold is how long the answer of a call is waited for before it becomes a
	// stream, which shows proxies and clients that it is still on its way.
	hold = 15 * time.Second
	// maxAsks bounds the requests that wait for one session's answer.
	maxAsks = 64
	// maxPosted bounds the requests that run at once for one HTTP+SSE session.
	maxPosted = 16
	// listenTimeout is how long upstreams may take to say which resources they
	// watch, before a stream begins without the others.
	listenTimeout = 5 * time.Second
	// streamRetry is when a client that has too many streams may try again.
	streamRetry = 10 * time.Second
)

// slots count the open streams: of each principal, and in all.
type slots struct {
	mu    sync.Mutex
	max   int
	total int
	used  map[string]int // by principal; no zeros
}

func newSlots(max int) *slots { return &slots{max: max, used: map[string]int{}} }

// take returns what frees the slot again, or RATE_LIMITED.
func (s *slots) take(principal string) (free func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[principal] >= maxStreamsPerPrincipal || s.total >= s.max {
		f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "too many streams are open: close some, or try again later")
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

// OpenStreams returns how many streams of clients are open.
func (e *Endpoint) OpenStreams() int {
	e.slots.mu.Lock()
	defer e.slots.mu.Unlock()
	return e.slots.total
}
