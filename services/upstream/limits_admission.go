package upstream

import "time"

// Limits of what a server that hangs may cost the gateway.
const (
	// maxWaiting is the number of calls to one server that wait for a turn.
	maxWaiting = 1024
	// maxFailures is how many exchanges in a row fail on the way before calls
	// are kept away from a server.
	maxFailures = 5
	// crowdedRetry is when a call that found no room should come again.
	crowdedRetry = time.Second
	// minProbeWait and maxProbeBackOff bound how long a server that does not
	// answer is left alone; the time doubles.
	minProbeWait    = time.Second
	maxProbeBackOff = 30 * time.Second
	// maxProbeWait is how long a call waits for another one to find out
	// whether the server can be reached again.
	maxProbeWait = time.Second
)
