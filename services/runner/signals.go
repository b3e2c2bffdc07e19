//go:build linux || darwin

package runner

import "sync"

// signals notifies waiting goroutines of changes. The zero value is
// ready to use.
type signals struct {
	mu      sync.Mutex
	waiting map[chan struct{}]bool
}

// send notifies all that wait. Several calls can arrive as one.
func (s *signals) send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.waiting {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// subscribe returns a channel of changes, and the function that ends it.
func (s *signals) subscribe() (changes <-chan struct{}, end func()) {
	c := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting = map[chan struct{}]bool{}
	}
	s.waiting[c] = true
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, c)
	}
}
