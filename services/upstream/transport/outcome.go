package transport

import (
	"context"
	"errors"
	"net/http"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/admission"
)

// OutcomeOf judges the error of an exchange, which parent may have ended.
func OutcomeOf(parent context.Context, err error) admission.Outcome {
	if err == nil { // what follows allocates
		return admission.OutcomeAnswered
	}
	var (
		away *Refusal
		lost *lostConnection
		f    *fault.Fault
		says *upstream.AnswerError
	)
	switch {
	case errors.As(err, &says):
		return admission.OutcomeAnswered
	case errors.As(err, &away):
		switch away.status { // with these a proxy says that nothing is behind it
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return admission.OutcomeBroken
		}
		return admission.OutcomeAnswered
	case errors.As(err, &lost):
		if fault.Is(err, fault.CodeUpstreamTimeout) {
			return admission.OutcomeSilent
		}
		return admission.OutcomeBroken
	case fault.Is(err, fault.CodeUpstreamInvalidResponse):
		return admission.OutcomeAnswered
	case errors.As(err, &f):
		var c *upstream.Challenge
		if errors.As(err, &c) {
			return admission.OutcomeAnswered
		}
		return admission.OutcomeNone // ours, such as missing credentials
	case errors.Is(err, context.DeadlineExceeded) && parent.Err() == nil:
		return admission.OutcomeSilent
	}
	return admission.OutcomeNone
}

// LostBy returns the lost connection that the fault err is about, or nil. Where
// the time ran out instead, there is none left for another attempt.
func LostBy(err error) *lostConnection {
	if err == nil { // what follows allocates
		return nil
	}
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code == fault.CodeUpstreamTimeout {
		return nil
	}
	var lost *lostConnection
	_ = errors.As(f.Cause, &lost)
	return lost
}
