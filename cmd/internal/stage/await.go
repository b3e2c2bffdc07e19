package stage

import (
	"context"
	"fmt"
	"net"
	"time"
)

const (
	readyLimit = 5 * time.Minute
	maxPause   = 50 * time.Millisecond // between attempts
)

// FreeAddress returns a loopback address with a port that was free during the
// call.
func FreeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// Eventually repeats attempt until it returns nil, with increasing pauses. It
// returns the last error of attempt after limit, or an error as soon as one of the
// processes in needs has exited.
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
		if ctx.Err() == nil || last == nil { // ignore errors caused by the end of ctx
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
			return fmt.Errorf("%s: timed out after %v: %w", what, limit, last)
		}
	}
}

// Pause waits for d. It returns the error of ctx if ctx is done first.
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
