package pool

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/admission"
	"mcpgateway/services/upstream/transport"
	"mcpgateway/services/upstream/wire"
)

// explain turns an error into what callers are promised.
func explain(parent context.Context, t *upstream.Target, started time.Time, err error) error {
	if err == nil {
		return nil
	}
	var f *fault.Fault
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, context.DeadlineExceeded):
		return placeOf(t).TimedOut(min(time.Since(started), t.CallTimeout()))
	case errors.Is(err, context.Canceled) && parent.Err() != nil:
		return fmt.Errorf("the call to %s was cancelled: %w", placeOf(t), err)
	case errors.Is(err, context.Canceled):
		return closing(placeOf(t))
	}
	return err
}

// closing is the fault for calls while the pool closes.
func closing(p transport.Place) *fault.Fault {
	return p.Unavailable("is being disconnected, because the gateway shuts down")
}

// placeOf returns how messages name the target.
func placeOf(t *upstream.Target) transport.Place {
	host := "an unusable URL"
	if u, err := url.Parse(t.URL); err == nil && u.Host != "" {
		host = u.Host
	}
	return transport.Place{Alias: t.Alias, Host: wire.Excerpt([]byte(host))}
}

// crowded is the fault for a call that found no room to wait.
func crowded(p transport.Place, limit int) *fault.Fault {
	f := p.Unavailable("has %d calls under way and %d waiting, which is as many as the gateway keeps for one server: try again in %d s",
		limit, admission.MaxWaiting, int(admission.CrowdedRetry.Seconds()))
	f.RetryAfter = admission.CrowdedRetry
	return f
}

// neverCame is the fault for a call whose time ended before its turn came.
func neverCame(p transport.Place, limit int) *fault.Fault {
	return p.Fault(fault.CodeUpstreamTimeout, "is busy with %d other calls and the time of this one ended before its turn came; nothing was sent", limit)
}
