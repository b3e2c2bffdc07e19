package upstream

import (
	"context"
	"time"
)

// Memory reserves the memory of a response of more than 64 KiB, after the first
// of these have arrived.
type Memory interface {
	// Reserve waits for the memory of a response and returns how long it may be,
	// in bytes. length is negative when the length is unknown; then the response has
	// at most most bytes. It does not wait when ctx has ended. A later Reserve
	// replaces an earlier one.
	Reserve(ctx context.Context, length, most int64) (int64, error)
	// Settle frees what a response of n bytes does not need. It follows every
	// call that reserved.
	Settle(n int64)
}

// reserve returns how many bytes the response to x may have. The error is that of
// Memory.
func (x *exchange) reserve(ctx context.Context, length int64) (int64, error) {
	if x.memory == nil {
		return maxAnswerBytes, nil
	}
	x.reserved = true
	return x.memory.Reserve(ctx, length, maxAnswerBytes)
}

// reserveNow is reserve for a response that is in memory already: it does not
// wait.
func (x *exchange) reserveNow(ctx context.Context, length int) error {
	if length <= unreserved {
		return nil
	}
	ended, cancel := context.WithDeadline(ctx, time.Unix(1, 0))
	defer cancel()
	_, err := x.reserve(ended, int64(length))
	return err
}

// settle ends what reserve began.
func (x *exchange) settle(r reply) {
	if x.reserved {
		x.memory.Settle(int64(cap(r.result) + cap(r.rpcError)))
	}
}
