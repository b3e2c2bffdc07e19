// Package admission decides whether a call is sent to an upstream. A queue
// limits the calls in flight and serves callers round robin. A breaker pauses
// calls to a server that cannot be reached.
package admission

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Queue limits the calls in flight and the waiting calls of one upstream, so
// that a hanging upstream uses a limited amount of memory, goroutines and
// connections. It serves callers round robin: many waiting calls of one caller
// do not delay another caller. If the queue is full, a new call displaces the
// latest call of the caller with the most waiting calls, unless its own caller
// has as many.
type Queue struct {
	mu      sync.Mutex
	limit   int
	active  int
	waiting int
	callers map[string]*waitingCalls
	turns   []*waitingCalls // each caller once, next first
}

// waitingCalls are the waiting calls of one caller, oldest first.
type waitingCalls struct {
	caller string
	calls  []*waitingCall
}

// waitingCall is one waiting call. done is closed when the call is admitted, or
// with err set when it was displaced.
type waitingCall struct {
	done chan struct{}
	err  error
}

// SetLimit sets the maximum number of calls in flight.
func (a *Queue) SetLimit(limit int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limit = limit
	a.admit()
}

// Enter waits until a call may be sent. After a nil error the caller must call
// Leave when the call has ended. The error is ErrOverloaded or ctx.Err().
func (a *Queue) Enter(ctx context.Context, caller string) error {
	a.mu.Lock()
	if a.active < a.limit && a.waiting == 0 {
		a.active++
		a.mu.Unlock()
		return nil
	}
	w, err := a.enqueue(caller)
	a.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		a.giveUp(caller, w)
		return ctx.Err()
	}
}

// enqueue adds a call to the queue. The caller must hold mu.
func (a *Queue) enqueue(caller string) (*waitingCall, error) {
	own := a.callers[caller]
	if a.waiting >= MaxWaiting && !a.displace(own) {
		return nil, ErrOverloaded
	}
	if own == nil {
		own = &waitingCalls{caller: caller}
		if a.callers == nil {
			a.callers = map[string]*waitingCalls{}
		}
		a.callers[caller] = own
		a.turns = append(a.turns, own)
	}
	w := &waitingCall{done: make(chan struct{})}
	own.calls = append(own.calls, w)
	a.waiting++
	return w, nil
}

// displace removes the latest call of the caller with the most calls. It
// returns false if that would leave it with fewer than own, which may be nil.
// The caller must hold mu.
func (a *Queue) displace(own *waitingCalls) bool {
	most := slices.MaxFunc(a.turns, func(x, y *waitingCalls) int { return len(x.calls) - len(y.calls) })
	if own != nil && len(own.calls)+1 >= len(most.calls) || len(most.calls) < 2 {
		return false
	}
	last := most.calls[len(most.calls)-1]
	a.remove(most, last)
	last.err = ErrOverloaded
	close(last.done)
	return true
}

// remove removes a call from the queue. It returns false if it is not there.
// The caller must hold mu.
func (a *Queue) remove(own *waitingCalls, w *waitingCall) bool {
	i := slices.Index(own.calls, w)
	if i < 0 {
		return false
	}
	own.calls = slices.Delete(own.calls, i, i+1)
	a.waiting--
	if len(own.calls) == 0 {
		delete(a.callers, own.caller)
		a.turns = slices.DeleteFunc(a.turns, func(c *waitingCalls) bool { return c == own })
	}
	return true
}

// giveUp removes a waiting call.
func (a *Queue) giveUp(caller string, w *waitingCall) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if own := a.callers[caller]; own != nil && a.remove(own, w) {
		return
	}
	if w.err == nil { // it was already admitted
		a.active--
		a.admit()
	}
}

// Leave ends a call that was admitted.
func (a *Queue) Leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.active--
	a.admit()
}

// admit admits waiting calls up to the limit. The caller must hold mu.
func (a *Queue) admit() {
	for a.active < a.limit && a.waiting > 0 {
		next := a.turns[0]
		w := next.calls[0]
		a.remove(next, w)
		if len(next.calls) > 0 {
			a.turns = append(a.turns[1:], next)
		}
		a.active++
		close(w.done)
	}
}

// Load returns the numbers of calls in flight and of waiting calls.
func (a *Queue) Load() (active, waiting int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.active, a.waiting
}

// ErrOverloaded means that the queue of an upstream is full.
var ErrOverloaded = errors.New("call queue is full")
