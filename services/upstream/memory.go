package upstream

import (
	"context"
	"time"
)

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
