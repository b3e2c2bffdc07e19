package admission

import "time"

// Limits of what a server that hangs may cost the gateway.
const (
	// MaxWaiting is the number of calls to one server that wait for a turn.
	MaxWaiting = 1024
	// maxFailures is how many exchanges in a row fail on the way before calls
	// are kept away from a server.
	maxFailures = 5
	// CrowdedRetry is when a call that found no room should come again.
	CrowdedRetry = time.Second
	// minProbeWait and maxProbeBackOff bound how long a server that does not
	// answer is left alone; the time doubles.
	minProbeWait    = time.Second
	maxProbeBackOff = 30 * time.Second
	// maxProbeWait is how long a call waits for another one to find out
	// whether the server can be reached again.
	maxProbeWait = time.Second
)
