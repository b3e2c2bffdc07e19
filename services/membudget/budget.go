// Package membudget bounds the memory of large results: those that the process
// is reading from upstream servers, and those that clients have not received
// yet. Small results are not counted, so that they share no lock.
//
// No one waits for memory while holding some: a request reserves the most that
// its result can take before it reads on, and frees the rest afterwards; a
// batch reserves once for all of its results.
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

// retryAfter is the Retry-After of a result that found no memory in time.
const retryAfter = 5 * time.Second

// Budget is the memory of all large results. A nil Budget is unlimited. It is
// safe for concurrent use.
type Budget struct {
	size int64
	sem  *semaphore.Weighted
	held atomic.Int64
}

// New returns a budget of so many bytes.
func New(size int64) *Budget { return &Budget{size: size, sem: semaphore.NewWeighted(size)} }

// Held returns the number of bytes that are reserved.
func (b *Budget) Held() int64 {
	if b == nil {
		return 0
	}
	return b.held.Load()
}

// acquire waits for n bytes, or all of the budget when it is smaller, and
// returns the number of bytes acquired. When ctx has ended it does not wait.
// The error is UNAVAILABLE, or context.Canceled.
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

// Lease is the memory of the result of one request. The zero value has no
// budget; a nil Lease can be released. It is safe for concurrent use.
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

// Reserve waits for the memory of a result and returns how long it may be, in
// bytes. length is its length, or negative when only the most that it can have
// is known. What was reserved before is released first, so the result before
// must not be used any more. When ctx has ended Reserve does not wait. The error
// is UNAVAILABLE, or context.Canceled.
func (l *Lease) Reserve(ctx context.Context, length, most int64) (int64, error) {
	want := length
	if length < 0 {
		want = 2 * most // a result of unknown length is moved as it grows
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

// Settle frees what a result of n bytes does not need.
func (l *Lease) Settle(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < l.held {
		l.budget.release(l.held - n)
		l.held = n
	}
}

// Release frees everything. Reserve fails from now on, and further calls do
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

// swap releases what is held and holds n bytes that were acquired. It reports
// false for a closed lease.
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
