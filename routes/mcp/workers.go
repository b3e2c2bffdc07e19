package mcp

import "time"

// workers run functions on goroutines that are used again. A call needs a deep
// stack, and growing one anew for each costs about as much as reading the call.
type workers struct {
	next chan func() // is taken from by those that are idle
}

// maxIdleWorker is how long a goroutine waits for its next function.
const maxIdleWorker = 50 * time.Millisecond

func newWorkers() *workers { return &workers{next: make(chan func())} }

// do runs f on another goroutine. It does not wait.
func (w *workers) do(f func()) {
	select {
	case w.next <- f:
	default:
		go w.run(f)
	}
}

func (w *workers) run(f func()) {
	timer := time.NewTimer(maxIdleWorker)
	defer timer.Stop()
	for {
		f()
		timer.Reset(maxIdleWorker)
		select {
		case f = <-w.next:
		case <-timer.C:
			return
		}
	}
}
