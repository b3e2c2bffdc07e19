package membudget

import (
	"context"
	"sync"

	"mcpgateway/services/fault"
)

// Batch is the memory of a batch's results. The first large result reserves
// twice the limit of all results. Large results are then read one at a time
// within that reservation.
type Batch struct {
	most  int64
	turn  chan struct{} // held while a large result is read
	lease *Lease

	mu       sync.Mutex
	taken    int64
	reserved bool // guarded by turn
}

// NewBatch returns a batch whose results are limited to most bytes in total. A
// nil Budget sets no other limit.
func (b *Budget) NewBatch(most int64) *Batch {
	return &Batch{most: most, turn: make(chan struct{}, 1), lease: b.NewLease()}
}

// Result returns the memory of a result.
func (b *Batch) Result() *BatchResult { return &BatchResult{batch: b} }

// Release releases everything.
func (b *Batch) Release() { b.lease.Release() }

// enter waits until no other large result is being read and the memory is
// reserved.
func (b *Batch) enter(ctx context.Context) error {
	select {
	case b.turn <- struct{}{}:
	default:
		select {
		case b.turn <- struct{}{}:
		case <-ctx.Done():
			return exhausted(ctx.Err())
		}
	}
	if b.reserved {
		return nil
	}
	if _, err := b.lease.Reserve(ctx, 2*b.most, 2*b.most); err != nil {
		<-b.turn
		return err
	}
	b.reserved = true
	return nil
}

// count replaces the size of a result. It returns false and changes nothing if
// the limit would be exceeded.
func (b *Batch) count(before, after int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken -= before
	if b.taken+after > b.most {
		return false
	}
	b.taken += after
	return true
}

func (b *Batch) left() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.most - b.taken
}

// BatchResult is the memory of a result of a batch. It must not be used
// concurrently.
type BatchResult struct {
	batch   *Batch
	reading bool // holds turn
	counted int64
}

// Reserve is Lease.Reserve for a result of a batch. It also returns
// RESULT_TOO_LARGE if the batch's limit is exceeded. Settle must be called
// afterwards.
func (r *BatchResult) Reserve(ctx context.Context, length, most int64) (int64, error) {
	if !r.reading {
		if err := r.batch.enter(ctx); err != nil {
			return 0, err
		}
		r.reading = true
	}
	r.batch.count(r.counted, 0)
	r.counted = 0
	left := r.batch.left()
	if length > left || left <= 0 {
		r.Settle(0)
		return 0, fault.ResultTooLarge()
	}
	return min(most, left), nil
}

// Settle ends the reading of a result of n bytes.
func (r *BatchResult) Settle(n int64) {
	if r.batch.count(r.counted, n) {
		r.counted = n
	} else {
		r.counted = 0
	}
	if r.reading {
		r.reading = false
		<-r.batch.turn
	}
}

// Keep counts a finished result of n bytes. It returns RESULT_TOO_LARGE if the
// batch's limit is exceeded; the result must then be dropped.
func (r *BatchResult) Keep(n int64) error {
	before := r.counted
	r.counted = 0
	if !r.batch.count(before, n) {
		return fault.ResultTooLarge()
	}
	r.counted = n
	return nil
}
