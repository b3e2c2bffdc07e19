// Package membudget limits the memory of large results: those being read from
// upstream servers and those not yet delivered to clients. Small results are
// not counted, so they need no lock.
//
// A request never waits for memory while it holds some: it reserves the maximum
// size of its result before it reads on, and releases the rest afterwards. A
// batch reserves once for all its results.
package membudget

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"mcpgateway/services/fault"
)

// retryAfter is the Retry-After of a result that got no memory in time.
const retryAfter = 5 * time.Second

// Budget is the memory for all large results. A nil Budget is unlimited. It is
// safe for concurrent use.
type Budget struct {
	size int64
	sem  *semaphore.Weighted
	held atomic.Int64
}

// New returns a budget of size bytes.
func New(size int64) *Budget { return &Budget{size: size, sem: semaphore.NewWeighted(size)} }

// Held returns the number of reserved bytes.
func (b *Budget) Held() int64 {
	if b == nil {
		return 0
	}
	return b.held.Load()
}

// acquire waits for n bytes, or for the whole budget if it is smaller, and
// returns the number of acquired bytes. It doesn't wait if ctx has ended. It
// returns UNAVAILABLE or context.Canceled.
func (b *Budget) acquire(ctx context.Context, n int64) (int64, error) {
	if b == nil {
		return 0, nil
	}
	n = min(n, b.size)
	if !b.sem.TryAcquire(n) {
		if err := b.sem.Acquire(ctx, n); err != nil {
			return 0, exhausted(err)
		}
	}
	b.held.Add(n)
	return n, nil
}

func (b *Budget) release(n int64) {
	if b == nil || n == 0 {
		return
	}
	b.held.Add(-n)
	b.sem.Release(n)
}

// exhausted returns the error of a wait that ended with err.
func exhausted(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	f := fault.New(fault.KindUnavailable, fault.CodeUnavailable, "Too many large results are in memory. Retry later.")
	f.RetryAfter = retryAfter
	return f
}

// Lease is the memory of a request's result. The zero value has no budget.
// Releasing a nil Lease does nothing. It is safe for concurrent use.
type Lease struct {
	budget *Budget

	mu     sync.Mutex
	held   int64
	closed bool
}

// NewLease returns an empty lease. A nil Budget is unlimited.
func (b *Budget) NewLease() *Lease { return &Lease{budget: b} }

// Init sets the budget, which may be nil. It must be called first.
func (l *Lease) Init(b *Budget) { l.budget = b }

// Reserve waits for the memory of a result and returns its maximum length in
// bytes. length is its length, or negative if only its maximum is known. The
// previous reservation is released first, so the previous result must no longer
// be used. Reserve doesn't wait if ctx has ended. It returns UNAVAILABLE or
// context.Canceled.
func (l *Lease) Reserve(ctx context.Context, length, most int64) (int64, error) {
	want := length
	if length < 0 {
		want = 2 * most // a result of unknown length is copied as it grows
	}
	if !l.swap(0) {
		return 0, exhausted(nil)
	}
	got, err := l.budget.acquire(ctx, want)
	if err != nil {
		return 0, err
	}
	if !l.swap(got) {
		l.budget.release(got)
		return 0, exhausted(nil)
	}
	return most, nil
}

// Settle releases what a result of n bytes doesn't need.
func (l *Lease) Settle(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < l.held {
		l.budget.release(l.held - n)
		l.held = n
	}
}

// Release releases everything. Afterwards Reserve fails, and further calls do
// nothing.
func (l *Lease) Release() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.budget.release(l.held)
	l.held, l.closed = 0, true
}

// swap releases the held bytes and holds n acquired bytes. It returns false for
// a closed lease.
func (l *Lease) swap(n int64) (ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}

	l.budget.release(l.held)
	l.held = n
	return true
}
