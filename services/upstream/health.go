package upstream

import (
	"errors"
	"time"

	"mcpgateway/services/fault"
)

// State is the state of an upstream.
type State string

// The states of an upstream.
const (
	StateUnknown  State = "unknown"   // no request was sent yet
	StateOK       State = "ok"        // the last request succeeded
	StateFailing  State = "failing"   // the last request failed; calls are still sent
	StateOpen     State = "open"      // the breaker is open: calls are paused
	StateHalfOpen State = "half-open" // the breaker is open, and a probe is in progress
)

// Health is the result of the latest requests to an upstream. A JSON-RPC error
// of the upstream counts as success, because the upstream responds. In the zero
// value the state is unknown.
type Health struct {
	ConsecutiveFailures int // 0 after a success
	LastSuccess         time.Time
	LastFailure         time.Time
	LastCode            fault.Code // of the last failure; stays after a success
	LastMessage         string     // of the last failure; stays after a success
	LastReason          Reason     // of the last failure; stays after a success
	Turned              time.Time  // when the requests last changed from success to failure or back
	Breaker             Breaker    // state of the breaker
	Active, Waiting     int        // client calls in flight, and in the queue
}

// OK reports whether the last request succeeded.
func (h Health) OK() bool { return h.ConsecutiveFailures == 0 && !h.LastSuccess.IsZero() }

// State returns the state of the upstream, its start (zero if unknown), and the
// reason if it is neither ok nor unknown.
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

// Note records the outcome of a request. Only faults with KindUpstream are
// failures. All other errors, such as a cancelled call, are ignored. Note reports
// whether the outcome differs from the one before, or the reason of the failure.
func (h *Health) Note(err error) (turned bool) {
	now := time.Now()
	if err == nil {
		if turned = !h.OK(); turned {
			h.Turned = now
		}
		h.ConsecutiveFailures, h.LastSuccess = 0, now
		return turned
	}
	var f *fault.Fault
	if !errors.As(err, &f) || f.Kind != fault.KindUpstream {
		return false
	}
	if turned = h.ConsecutiveFailures == 0; turned {
		h.Turned = now
	}
	turned = turned || h.LastReason != ReasonOf(f)
	h.ConsecutiveFailures++
	h.LastFailure, h.LastCode, h.LastMessage, h.LastReason = now, f.Code, f.AdminMessage(), ReasonOf(f)
	return turned
}

// BreakerState is the state of a breaker.
type BreakerState string

// The states of a breaker.
const (
	BreakerClosed   BreakerState = "closed"    // calls are sent
	BreakerOpen     BreakerState = "open"      // calls fail immediately
	BreakerHalfOpen BreakerState = "half-open" // one call probes the upstream; others fail immediately
)

// Breaker is the state of the breaker of an upstream. The zero value is closed.
type Breaker struct {
	State     BreakerState // empty means closed
	Since     time.Time    // start of the state; zero if the breaker never opened
	Reason    string       // why the breaker is not closed
	NextProbe time.Time    // time of the next probe; zero if the next call is the probe
}
