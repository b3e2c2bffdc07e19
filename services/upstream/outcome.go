package upstream

import (
	"context"
	"errors"
	"net/http"

	"mcpgateway/services/fault"
)

// outcomeOf judges the error of an exchange, which parent may have ended.
func outcomeOf(parent context.Context, err error) outcome {
	if err == nil { // what follows allocates
		return outcomeAnswered
	}
	var (
		away *refusal
		lost *lostConnection
		f    *fault.Fault
		says *AnswerError
	)
	switch {
	case errors.As(err, &says):
		return outcomeAnswered
	case errors.As(err, &away):
		switch away.status { // with these a proxy says that nothing is behind it
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return outcomeBroken
		}
		return outcomeAnswered
	case errors.As(err, &lost):
		if fault.Is(err, fault.CodeUpstreamTimeout) {
			return outcomeSilent
		}
		return outcomeBroken
	case fault.Is(err, fault.CodeUpstreamInvalidResponse):
		return outcomeAnswered
	case errors.As(err, &f):
		var c *Challenge
		if errors.As(err, &c) {
			return outcomeAnswered
		}
		return outcomeNone // ours, such as missing credentials
	case errors.Is(err, context.DeadlineExceeded) && parent.Err() == nil:
		return outcomeSilent
	}
	return outcomeNone
}

// lostBy returns the lost connection that the fault err is about, or nil. Where
// the time ran out instead, there is none left for another attempt.
func lostBy(err error) *lostConnection {
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
