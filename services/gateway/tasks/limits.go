package tasks

import "time"

// Limits on tasks.
const (
	// MaxOpen is the maximum number of open tasks of one principal, and
	// MaxProjectOpen that of a project.
	MaxOpen        = 100
	MaxProjectOpen = 1_000
	// MaxWaits is the maximum number of requests that wait for tasks of one
	// server. They are not calls in flight.
	MaxWaits = 64
	// MaxLifetime is the time for which a handle is valid.
	MaxLifetime = 7 * 24 * time.Hour
	// MaxListen is the maximum number of tasks of one subscription.
	MaxListen = MaxOpen

	maxID     = 1 << 10         // bytes of an upstream server's task id
	maxState  = 16 << 10        // bytes of a stored task object
	maxKnown  = 10_000          // tasks known in the process
	openAge   = 5 * time.Second // age of the number of open tasks
	listPage  = 100             // tasks on a page of tasks/list
	minPoll   = 250 * time.Millisecond
	maxPoll   = 10 * time.Second
	usualPoll = time.Second
	// cancelTime is the timeout of tasks/cancel for a call that was cancelled.
	cancelTime = 10 * time.Second
	// maxFailures is the maximum number of consecutive requests about a task that
	// fail.
	maxFailures = 5
	// maxInputs is the maximum number of requests for input in one task.
	maxInputs = 64
)
