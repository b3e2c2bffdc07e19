package stage

import (
	"context"
	"fmt"
	"net"
	"time"
)

const (
	readyLimit = time.Minute
	maxPause   = 50 * time.Millisecond // between two attempts
)

// FreeAddress returns a loopback address that nothing listened on a moment
// ago.
func FreeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// Eventually repeats attempt until it returns nil, more and more rarely. The
// error tells what the last attempt said when that took longer than limit, or
// that a process which it needs has ended.
func Eventually(ctx context.Context, limit time.Duration, what string, attempt func(context.Context) error, needs ...*Process) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	var last error
	for {
		err := attempt(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil { // what the end of the context broke off says nothing
			last = err
		}
		for _, p := range needs {
			select {
			case <-p.ended:
				return fmt.Errorf("%s: %w", what, p.failure())
			default:
			}
		}
		if Pause(ctx, min(time.Millisecond+time.Since(began)/50, maxPause)) != nil {
			return fmt.Errorf("%s: not within %v: %w", what, limit, last)
		}
	}
}

// Pause returns after d, or with the error of a context that ends first.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
