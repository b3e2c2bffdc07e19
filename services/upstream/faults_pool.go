package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"mcpgateway/services/fault"
)

// explain turns an error into what callers are promised.
func explain(parent context.Context, t *Target, started time.Time, err error) error {
	if err == nil {
		return nil
	}
	var f *fault.Fault
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, context.DeadlineExceeded):
		return placeOf(t).timedOut(min(time.Since(started), t.CallTimeout()))
	case errors.Is(err, context.Canceled) && parent.Err() != nil:
		return fmt.Errorf("the call to %s was cancelled: %w", placeOf(t), err)
	case errors.Is(err, context.Canceled):
		return closing(placeOf(t))
	}
	return err
}

// closing is the fault for calls while the pool closes.
func closing(p place) *fault.Fault {
	return p.unavailable("is being disconnected, because the gateway shuts down")
}

// placeOf returns how messages name the target.
func placeOf(t *Target) place {
	host := "an unusable URL"
	if u, err := url.Parse(t.URL); err == nil && u.Host != "" {
		host = u.Host
	}
	return place{alias: t.Alias, host: Excerpt([]byte(host))}
}

// crowded is the fault for a call that found no room to wait.
func crowded(p place, limit int) *fault.Fault {
	f := p.unavailable("has %d calls under way and %d waiting, which is as many as the gateway keeps for one server: try again in %d s",
		limit, maxWaiting, int(crowdedRetry.Seconds()))
	f.RetryAfter = crowdedRetry
	return f
}

// neverCame is the fault for a call whose time ended before its turn came.
func neverCame(p place, limit int) *fault.Fault {
	return p.fault(fault.CodeUpstreamTimeout, "is busy with %d other calls and the time of this one ended before its turn came; nothing was sent", limit)
}
