package upstreamtest

import (
	"sync"
	"sync/atomic"
)

// events wakes waiters after a change. Without waiters, a change costs an
// atomic load. A waiter registers before it gets the channel and reads the
// state, so it either sees a change or is woken by it.
type events struct {
	waiters atomic.Int64
	mu      sync.Mutex
	ch      chan struct{}
}

func (e *events) next() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ch == nil {
		e.ch = make(chan struct{})
	}
	return e.ch
}

func (e *events) signal() {
	if e.waiters.Load() == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ch != nil {
		close(e.ch)
		e.ch = nil
	}
}
