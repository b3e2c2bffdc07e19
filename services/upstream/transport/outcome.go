package transport

import (
	"context"
	"errors"
	"net/http"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/admission"
)

// OutcomeOf classifies the error of a request with the parent context.
func OutcomeOf(parent context.Context, err error) admission.Outcome {
	if err == nil { // fast path: the variables below allocate
		return admission.OutcomeAnswered
	}
	var (
		away   *Refusal
		lost   *connectionError
		f      *fault.Fault
		rpcErr *upstream.AnswerError
		ended  *upstream.Ended
	)
	switch {
	case errors.As(err, &rpcErr):
		return admission.OutcomeAnswered
	case errors.As(err, &ended):
		return admission.OutcomeNone // its runner has its own back-off
	case errors.As(err, &away):
		switch away.status { // a proxy returns these if its backend is down
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return admission.OutcomeUnreachable
		}
		return admission.OutcomeAnswered
	case errors.As(err, &lost):
		if fault.Is(err, fault.CodeUpstreamTimeout) {
			return admission.OutcomeTimedOut
		}
		return admission.OutcomeUnreachable
	case fault.Is(err, fault.CodeUpstreamInvalidResponse):
		return admission.OutcomeAnswered
	case errors.As(err, &f):
		var c *upstream.Challenge
		if errors.As(err, &c) {
			return admission.OutcomeAnswered
		}
		return admission.OutcomeNone // caused by the gateway, such as missing credentials
	case errors.Is(err, context.DeadlineExceeded) && parent.Err() == nil:
		return admission.OutcomeTimedOut
	}
	return admission.OutcomeNone
}

// LossOf returns the lost connection that caused the fault err, or nil. It
// returns nil for a timeout, because no time is left for a retry.
func LossOf(err error) *connectionError {
	if err == nil { // fast path: the variables below allocate
		return nil
	}
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code == fault.CodeUpstreamTimeout {
		return nil
	}
	var lost *connectionError
	_ = errors.As(f.Cause, &lost)
	return lost
}
