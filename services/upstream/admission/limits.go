package admission

import "time"

// Limits on calls to a failing or slow server.
const (
	// MaxWaiting is the maximum number of waiting calls to one server.
	MaxWaiting = 1024
	// maxFailures is the number of consecutive connection failures or timeouts
	// that opens the breaker.
	maxFailures = 5
	// OverloadedRetry is the RetryAfter of a call that arrives when the queue is
	// full.
	OverloadedRetry = time.Second
	// minProbeWait and maxProbeBackOff limit the delay before a server that
	// timed out is probed. The delay doubles.
	minProbeWait    = time.Second
	maxProbeBackOff = 30 * time.Second
	// maxProbeWait is the maximum time that a call waits for the probe of
	// another call.
	maxProbeWait = time.Second
)
