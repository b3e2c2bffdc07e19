package transport

import (
	"context"
	"time"

	"mcpgateway/services/upstream/wire"
)

// reserve returns how many bytes the response to x may have. The error is that of
// Memory.
func (x *Exchange) reserve(ctx context.Context, length int64) (int64, error) {
	if x.Memory == nil {
		return maxAnswerBytes, nil
	}
	x.reserved = true
	return x.Memory.Reserve(ctx, length, maxAnswerBytes)
}

// reserveNow is reserve for a response that is in memory already: it does not
// wait.
func (x *Exchange) reserveNow(ctx context.Context, length int) error {
	if length <= wire.Unreserved {
		return nil
	}
	ended, cancel := context.WithDeadline(ctx, time.Unix(1, 0))
	defer cancel()
	_, err := x.reserve(ended, int64(length))
	return err
}

// Settle ends what reserve began.
func (x *Exchange) Settle(r Reply) {
	if x.reserved {
		x.Memory.Settle(int64(cap(r.Result) + cap(r.RPCError)))
	}
}
