package upstreamtest

import (
	"sync"
	"sync/atomic"
)

// events wakes waiters after a change. A change costs one atomic load while
// nobody waits. A waiter counts itself before it takes the channel and looks
// at the state, so a change between the two is either seen or wakes it.
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
