package transport

import (
	"context"
	"time"

	"mcpgateway/services/upstream/wire"
)

// reserve returns the maximum size of the response to x. The error is that of
// Memory.Reserve.
func (x *Exchange) reserve(ctx context.Context, length int64) (int64, error) {
	if x.Memory == nil {
		return maxAnswerBytes, nil
	}
	x.reserved = true
	return x.Memory.Reserve(ctx, length, maxAnswerBytes)
}

// reserveNow is like reserve for a response that is already in memory. It does
// not wait.
func (x *Exchange) reserveNow(ctx context.Context, length int) error {
	if length <= wire.Unreserved {
		return nil
	}
	ended, cancel := context.WithDeadline(ctx, time.Unix(1, 0))
	defer cancel()
	_, err := x.reserve(ended, int64(length))
	return err
}

// Settle ends the reservation, if there is one.
func (x *Exchange) Settle(r Reply) {
	if x.reserved {
		x.Memory.Settle(int64(cap(r.Result) + cap(r.RPCError)))
	}
}
