package codemode

import "time"

// Limits of a run of code. A project may lower the time-out only.
const (
	// MaxInput is the longest input, in bytes of JSON.
	MaxInput = 256 << 10
	// DefaultTimeout is the wall time of a run, waits included, when neither
	// the project nor the call says otherwise.
	DefaultTimeout = 30 * time.Second
	// MinTimeout and MaxTimeout bound what a project or a call may ask for.
	MinTimeout = time.Second
	MaxTimeout = 300 * time.Second
	// MaxParallelCalls is how many tool calls run at once; the others wait in
	// the order in which they were made. It bounds what one run takes of the
	// gateway; that an upstream is not flooded is up to the limits of its
	// connection.
	MaxParallelCalls = 50
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
	// MaxRunsPerProject is how many runs of one project go on at once.
	MaxRunsPerProject = 4
	// MaxQueueWait is how long a run waits for a free place.
	MaxQueueWait = 5 * time.Second
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
	// settleGrace is how long cancelled calls may take to say how they ended.
	settleGrace = 100 * time.Millisecond
	// maxDiagnostics is how many lines of the compiler are reported.
	maxDiagnostics = 20
	// typecheckTimeout bounds the compiler.
	typecheckTimeout = 10 * time.Second
	// traceQueue is how many finished runs wait to be stored.
	traceQueue = 64
	// storeTimeout bounds the storing of one.
	storeTimeout = 5 * time.Second
	// maxKeptDeclarations bounds the declarations of whole projects that are
	// kept for the next call, in bytes.
	maxKeptDeclarations = 64 << 20
)
