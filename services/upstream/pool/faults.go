package pool

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/admission"
	"mcpgateway/services/upstream/transport"
	"mcpgateway/services/upstream/wire"
)

// explain converts an error to a fault, or to an error that wraps
// context.Canceled if the caller cancelled. It returns other errors unchanged.
func explain(parent context.Context, t *upstream.Target, started time.Time, err error) error {
	if err == nil {
		return nil
	}
	var f *fault.Fault
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, context.DeadlineExceeded):
		return timedOut(t, time.Since(started))
	case errors.Is(err, context.Canceled) && parent.Err() != nil:
		return fmt.Errorf("call to upstream %q cancelled: %w", t.Alias, err)
	case errors.Is(err, context.Canceled):
		return closing(placeOf(t))
	}
	return err
}

// timedOut returns the fault for a request that ended without a response, with
// what it waited for if the server is starting.
func timedOut(t *upstream.Target, after time.Duration) *fault.Fault {
	f := placeOf(t).TimedOut(min(after, t.CallTimeout()+t.StartTime()))
	if waiting := t.Waiting(); waiting != "" {
		f.Message = strings.TrimSuffix(f.Message, ".") + ": " + waiting + "."
	}
	return f
}

// closing returns the fault for calls while the pool is closing.
func closing(p transport.FaultOrigin) *fault.Fault {
	return p.Unavailable("was disconnected: the gateway is shutting down. Retry shortly.")
}

// placeOf returns the name of the target in messages.
func placeOf(t *upstream.Target) transport.FaultOrigin {
	host := "an unusable URL"
	if u, err := url.Parse(t.URL); err == nil && u.Host != "" {
		host = u.Host
	}
	return transport.FaultOrigin{Alias: t.Alias, Host: wire.Excerpt([]byte(host))}
}

// queueFull returns the fault for a call that arrives when the queue is full.
func queueFull(p transport.FaultOrigin, limit int) *fault.Fault {
	f := p.Unavailable("has %d calls in flight and %d in the queue, the maximum. Retry in %d s.",
		limit, admission.MaxWaiting, int(admission.OverloadedRetry.Seconds()))
	f.RetryAfter = admission.OverloadedRetry
	return f
}

// queueTimeout returns the fault for a call that timed out in the queue.
func queueTimeout(p transport.FaultOrigin, limit int) *fault.Fault {
	return p.Fault(fault.CodeUpstreamTimeout, "has %d other calls in flight, and this one timed out in the queue. Nothing was sent.", limit)
}
