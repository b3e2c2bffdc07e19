package codemode

import "time"

// Limits of a run of code. A project may lower the time-out only.
const (
	// MaxCode is the longest code, in bytes.
	MaxCode = 64 << 10
	// MaxInput is the longest input, in bytes of JSON.
	MaxInput = 256 << 10
	// DefaultTimeout is the wall time of a run, waits included, when neither
	// the project nor the call says otherwise.
	DefaultTimeout = 30 * time.Second
	// MinTimeout and MaxTimeout bound what a project or a call may ask for.
	MinTimeout = time.Second
	MaxTimeout = 300 * time.Second
	// MaxCPU is the processor time of a run's own code, without its waits.
	MaxCPU = 5 * time.Second
	// MaxMemory is what the engine gives to the code, in bytes.
	MaxMemory = 64 << 20
	// MaxCalls is how many tool calls a run may make.
	MaxCalls = 100
	// MaxParallelCalls is how many of them run at once; the others wait in
	// the order in which they were made. It bounds what one run takes of the
	// gateway; that an upstream is not flooded is up to the limits of its
	// connection.
	MaxParallelCalls = 50
	// MaxArguments is the longest arguments object of one call, in bytes.
	MaxArguments = 1 << 20
	// MaxQueuedArguments is how many bytes the arguments of the calls that wait
	// for their turn may have together.
	MaxQueuedArguments = 4 << 20
	// MaxToolResult is the largest value of one call that enters the sandbox,
	// in bytes.
	MaxToolResult = 4 << 20
	// MaxHeldResults is how many bytes the results that are on their way into
	// the sandbox may have together. A program that awaits them in turn never
	// meets it, and one that takes so much at once could not keep it.
	MaxHeldResults = 40 << 20
	// MaxResult is the longest result that leaves a run, in bytes of JSON.
	MaxResult = 64 << 10
	// MaxLogLines and MaxLogBytes bound what the console keeps.
	MaxLogLines = 200
	MaxLogBytes = 32 << 10
	// MaxRunsPerProject is how many runs of one project go on at once.
	MaxRunsPerProject = 4
	// MaxQueueWait is how long a run waits for a free place.
	MaxQueueWait = 5 * time.Second
	// MaxFetches is how many requests the code of a run may send.
	MaxFetches = 20
	// MaxFetchBody is the largest body that fetch reads, in bytes.
	MaxFetchBody = 5 << 20
	// MaxFetchRequest is the largest body that fetch sends, in bytes.
	MaxFetchRequest = 1 << 20
	// FetchTimeout bounds one fetch with its redirects.
	FetchTimeout = 10 * time.Second
	// MaxTraces is how many runs of a project are kept for replay.
	MaxTraces = 200
	// MaxTraceField is the longest input and the longest outcome that a trace
	// keeps, in bytes.
	MaxTraceField = 64 << 10
)

const (
	// maxWaiting is how many runs wait for a place at once.
	maxWaiting = 256
	// killGrace is how long after the deadline a child may still report.
	killGrace = 100 * time.Millisecond
	// stubbornGrace is how long a child's engine may take to see that it must
	// stop.
	stubbornGrace = 40 * time.Millisecond
	// settleGrace is how long cancelled calls may take to say how they ended.
	settleGrace = 100 * time.Millisecond
	// startTimeout is how long a child may take until it is ready.
	startTimeout = 10 * time.Second
	// warmChildren wait for the next run, until idleTimeout after the last.
	warmChildren = 2
	idleTimeout  = 5 * time.Minute
	// memoryHeadroom is what a child may take above its size when it is
	// ready: the engine's memory, copies of strings on their way in and out,
	// and the compiler.
	memoryHeadroom = 320 << 20
	// childStack bounds the stack of one goroutine of a child.
	childStack = 128 << 20
	// maxFrame is the longest message between the gateway and a child.
	maxFrame = 12 << 20
	// maxLogLine is the longest line of the console.
	maxLogLine = 8 << 10
	// maxErrorText is the longest message of an error.
	maxErrorText = 2 << 10
	// maxTrouble is how much a child's standard error is read.
	maxTrouble = 4 << 10
	// maxRawResult is the longest result that a child looks at before it is
	// cut to MaxResult.
	maxRawResult = 8 << 20
	// maxDiagnostics is how many lines of the compiler are reported.
	maxDiagnostics = 20
	// typecheckTimeout bounds the compiler.
	typecheckTimeout = 10 * time.Second
	// traceQueue is how many finished runs wait to be stored.
	traceQueue = 64
	// storeTimeout bounds the storing of one.
	storeTimeout = 5 * time.Second
)
