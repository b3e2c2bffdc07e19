package upstream

import (
	"errors"
	"time"

	"mcpgateway/services/fault"
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
	Breaker             Breaker    // whether calls are sent
}

// OK reports whether the last exchange succeeded.
func (h Health) OK() bool { return h.ConsecutiveFailures == 0 && !h.LastSuccess.IsZero() }

// note takes the outcome of an exchange in. Only faults of the upstream are
// failures of it; a cancelled call says nothing about it.
func (h *Health) note(err error) {
	if err == nil {
		h.ConsecutiveFailures, h.LastSuccess = 0, time.Now()
		return
	}
	var f *fault.Fault
	if !errors.As(err, &f) || f.Kind != fault.KindUpstream {
		return
	}
	h.ConsecutiveFailures++
	h.LastFailure, h.LastCode, h.LastMessage = time.Now(), f.Code, f.Message
}
