package upstream

import (
	"errors"
	"time"

	"mcpgateway/services/fault"
)

// State is how an upstream is, in a word.
type State string

// The states of an upstream.
const (
	StateUnknown  State = "unknown"   // nothing was tried yet
	StateOK       State = "ok"        // the last exchange succeeded
	StateFailing  State = "failing"   // the last exchange failed; calls are sent all the same
	StateOpen     State = "open"      // it failed so often that calls are kept away from it
	StateHalfOpen State = "half-open" // the same, while one call finds out whether it is back
)

// Health is what the latest exchanges with an upstream showed. A JSON-RPC
// error of the upstream counts as success: it is there and answers. The zero
// value says that nothing was tried yet.
type Health struct {
	ConsecutiveFailures int // 0 after a success
	LastSuccess         time.Time
	LastFailure         time.Time
	LastCode            fault.Code // of the last failure; stays after a success
	LastMessage         string     // of the last failure; stays after a success
	Turned              time.Time  // when the first exchange succeeded or failed that differs from the one before
	Breaker             Breaker    // whether calls are sent
	Active, Waiting     int        // calls of clients that are under way now, and that wait for their turn
}

// OK reports whether the last exchange succeeded.
func (h Health) OK() bool { return h.ConsecutiveFailures == 0 && !h.LastSuccess.IsZero() }

// State returns how the upstream is, since when (zero when unknown), and why
// when it is neither ok nor unknown.
func (h Health) State() (state State, since time.Time, reason string) {
	switch {
	case h.Breaker.State == BreakerOpen:
		return StateOpen, h.Breaker.Since, h.Breaker.Reason
	case h.Breaker.State == BreakerHalfOpen:
		return StateHalfOpen, h.Breaker.Since, h.Breaker.Reason
	case h.OK():
		return StateOK, h.Turned, ""
	case h.ConsecutiveFailures > 0:
		return StateFailing, h.Turned, h.LastMessage
	}
	return StateUnknown, time.Time{}, ""
}

// Note takes the outcome of an exchange in. Only faults of the upstream are
// failures of it; a cancelled call says nothing about it.
func (h *Health) Note(err error) {
	now := time.Now()
	if err == nil {
		if !h.OK() {
			h.Turned = now
		}
		h.ConsecutiveFailures, h.LastSuccess = 0, now
		return
	}
	var f *fault.Fault
	if !errors.As(err, &f) || f.Kind != fault.KindUpstream {
		return
	}
	if h.ConsecutiveFailures == 0 {
		h.Turned = now
	}
	h.ConsecutiveFailures++
	h.LastFailure, h.LastCode, h.LastMessage = now, f.Code, f.AdminMessage()
}

// BreakerState says whether calls are sent to an upstream.
type BreakerState string

// The states of a breaker.
const (
	BreakerClosed   BreakerState = "closed"    // calls are sent
	BreakerOpen     BreakerState = "open"      // calls fail at once
	BreakerHalfOpen BreakerState = "half-open" // one call finds out whether the upstream is back; others fail at once
)

// Breaker is what keeps calls away from an upstream that cannot be reached.
// The zero value is a closed one.
type Breaker struct {
	State     BreakerState // closed when empty
	Since     time.Time    // of the state; zero when it was never left
	Reason    string       // why it is not closed
	NextProbe time.Time    // when a call is sent again; zero when the next call is
}
