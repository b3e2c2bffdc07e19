package live

import (
	"sync"
	"time"

	"mcpgateway/services/fault"
)

// Limits of the open streams. A browser with more tabs reconnects later.
const (
	MaxPerPerson = 20
	maxOpen      = 500
	retryAfter   = 10 * time.Second
)

// streams counts the open streams of each user and in total.
type streams struct {
	mu    sync.Mutex
	total int
	used  map[string]int // by user id; no zero values
}

func newStreams() *streams { return &streams{used: map[string]int{}} }

func (s *streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// take reserves a stream and returns the function that releases it, or
// RATE_LIMITED.
func (s *streams) take(person string) (free func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[person] >= MaxPerPerson || s.total >= maxOpen {
		f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "Too many live tabs are open. Close some to see live updates.")
		f.RetryAfter = retryAfter
		return nil, f
	}
	s.total++
	s.used[person]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.total--
		if s.used[person]--; s.used[person] == 0 {
			delete(s.used, person)
		}
	}), nil
}
