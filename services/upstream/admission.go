package upstream

import (
	"context"
	"errors"
	"sync/atomic"

	"mcpgateway/services/fault"
)

// admission bounds how many calls use one upstream at once, and how many wait
// for their turn, so that an upstream that hangs holds no more than that of the
// gateway's memory, goroutines and connections.
type admission struct {
	slots   chan struct{} // holds an element for each call under way
	waiting atomic.Int64
}

func newAdmission() admission { return admission{slots: make(chan struct{}, maxCalls)} }

// enter takes a slot, in the order of arrival, which has to be given back with
// leave. The error is errCrowded or the context's.
func (a *admission) enter(ctx context.Context) error {
	select {
	case a.slots <- struct{}{}:
		return nil
	default:
	}
	defer a.waiting.Add(-1)
	if a.waiting.Add(1) > maxWaiting {
		return errCrowded
	}
	select {
	case a.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *admission) leave() { <-a.slots }

// load returns how many calls are under way, and how many wait.
func (a *admission) load() (active, waiting int) {
	return len(a.slots), int(min(a.waiting.Load(), maxWaiting))
}

// errCrowded says that as many calls wait for an upstream as may.
var errCrowded = errors.New("too many calls wait for the upstream")

// crowded is the fault for a call that found no room to wait.
func (p place) crowded() *fault.Fault {
	f := p.unavailable("has %d calls under way and %d waiting, which is as many as the gateway keeps for one server: try again in %d s",
		maxCalls, maxWaiting, int(crowdedRetry.Seconds()))
	f.RetryAfter = crowdedRetry
	return f
}

// neverCame is the fault for a call whose time ended before its turn came.
func (p place) neverCame() *fault.Fault {
	return p.fault(fault.CodeUpstreamTimeout, "is busy with %d other calls and the time of this one ended before its turn came; nothing was sent", maxCalls)
}
