package ratelimit

import (
	"sync"
	"time"

	"mcpgateway/services/fault"
)

// Limits for open streams (contract, "Limits").
const (
	maxStreamsPerOwner = 256
	// streamRetry is the Retry-After when too many streams are open.
	streamRetry = 10 * time.Second
)

// StreamLimit limits the open streams, per owner and in total. It is safe for
// concurrent use.
type StreamLimit struct {
	mu    sync.Mutex
	max   int
	total int
	used  map[string]int // by owner; no zeros
}

// NewStreamLimit returns a limit of max streams in total.
func NewStreamLimit(max int) *StreamLimit { return &StreamLimit{max: max, used: map[string]int{}} }

// Take acquires a slot and returns the function that releases it, or
// RATE_LIMITED.
func (s *StreamLimit) Take(owner string) (free func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[owner] >= maxStreamsPerOwner || s.total >= s.max {
		f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "Too many streams are open. Close some or retry later.")
		f.RetryAfter = streamRetry
		return nil, f
	}
	s.total++
	s.used[owner]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.total--
		if s.used[owner]--; s.used[owner] == 0 {
			delete(s.used, owner)
		}
	}), nil
}

// Open returns the number of open streams.
func (s *StreamLimit) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}
