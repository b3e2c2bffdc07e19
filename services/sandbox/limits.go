package sandbox

import "time"

// Limits of the code in a child and of its messages.
const (
	// MaxCode is the maximum length of code, in bytes.
	MaxCode = 64 << 10
	// MaxCPU limits the processor time of the code in one run. Waits don't
	// count.
	MaxCPU = 5 * time.Second
	// MaxMemory is the engine's memory limit for the code, in bytes.
	MaxMemory = 64 << 20
	// MaxCalls is the maximum number of tool calls in a run.
	MaxCalls = 100
	// MaxArguments is the maximum size of the arguments of one call, in bytes.
	MaxArguments = 1 << 20
	// MaxStore is the maximum size of a stored value in the JSON of its call, in
	// bytes. A value of the maximum size can be longer there, because of escapes.
	MaxStore = 8 << 20
	// MaxWhole is the maximum size of a result or of logs that are sent whole.
	MaxWhole = 5 << 20
	// MaxResult is the maximum size of a run's result, in bytes of JSON.
	MaxResult = 64 << 10
	// MaxLogLines and MaxLogBytes limit the console output that is stored.
	MaxLogLines = 200
	MaxLogBytes = 32 << 10
	// MaxFetches is the maximum number of fetch requests in a run.
	MaxFetches = 20
	// MaxFrame is the maximum size of a message between the gateway and a
	// child, in bytes.
	MaxFrame = 12 << 20
	// MaxLogLine is the maximum length of a console line, in bytes.
	MaxLogLine = 8 << 10
	// MaxErrorText is the maximum length of an error message, in bytes.
	MaxErrorText = 2 << 10
)

const (
	// stopGrace is the time for the engine to react to a stop request.
	// After it watch ends the process.
	stopGrace = 40 * time.Millisecond
	// startTimeout is the maximum time for a child to become ready.
	startTimeout = 10 * time.Second
	// warmChildren is the number of children waiting for a run, until
	// idleTimeout after the last run.
	warmChildren = 2
	idleTimeout  = 5 * time.Minute
	// memoryHeadroom is the memory that a child may use above its size when
	// ready: for the engine, for copies of strings sent and received, and for
	// the compiler.
	memoryHeadroom = 320 << 20
	// childGCPercent is GOGC of a child: a collection during a short run would
	// take a good part of it.
	childGCPercent = 400
	// childStack limits the stack of one goroutine in a child, in bytes.
	childStack = 128 << 20
	// maxStderr is the maximum length of stored standard error of a child, in
	// bytes.
	maxStderr = 4 << 10
	// maxRawResult is the maximum size of a result before a child truncates it
	// to MaxResult, in bytes.
	maxRawResult = 8 << 20
	// maxTimers is the maximum number of pending timers.
	maxTimers = 1000
	// compilerMemory and compilerSeconds limit the compiler's data in bytes and
	// its processor time in seconds.
	compilerMemory  = 2 << 30
	compilerSeconds = 20
)
