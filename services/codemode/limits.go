package codemode

import "time"

// Limits of a run. A project can lower only the timeout.
const (
	// MaxInput is the maximum size of the input, in bytes of JSON.
	MaxInput = 256 << 10
	// DefaultTimeout is the default wall time of a run, including its waits.
	DefaultTimeout = 30 * time.Second
	// MinTimeout and MaxTimeout bound the timeout of a project or a call.
	MinTimeout = time.Second
	MaxTimeout = 300 * time.Second
	// MaxParallelCalls is the maximum number of tool calls in flight in one
	// run. Further calls are queued in order. It limits the load of one run on
	// the gateway; the limits of its connection protect an upstream.
	MaxParallelCalls = 50
	// MaxQueuedArguments limits the total size of the arguments of queued
	// calls, in bytes.
	MaxQueuedArguments = 4 << 20
	// MaxToolResult is the maximum size of one call's value in the sandbox, in
	// bytes.
	MaxToolResult = 4 << 20
	// MaxHeldResults limits the total size of the results being sent to the
	// sandbox, in bytes. A program that awaits its calls one by one never
	// reaches it. A program above it couldn't hold the results in memory.
	MaxHeldResults = 40 << 20
	// MaxRunsPerProject is the maximum number of concurrent runs of a project.
	MaxRunsPerProject = 4
	// MaxQueueWait is the maximum wait for a free slot.
	MaxQueueWait = 5 * time.Second
	// MaxFetchBody is the maximum response body of fetch, in bytes.
	MaxFetchBody = 5 << 20
	// MaxFetchRequest is the maximum request body of fetch, in bytes.
	MaxFetchRequest = 1 << 20
	// FetchTimeout limits one fetch, including its redirects.
	FetchTimeout = 10 * time.Second
	// MaxTraces is the maximum number of runs that a project can store for
	// replay; its setting is at most this.
	MaxTraces = 1_000
	// MaxTraceField is the maximum size of the input and of the outcome in a
	// trace, in bytes.
	MaxTraceField = 64 << 10
)

const (
	// runsPerDeletion is the number of old runs that one statement deletes.
	runsPerDeletion = 100
	// maxWaiting is the maximum number of runs waiting for a slot.
	maxWaiting = 256
	// killGrace is the time after the deadline in which a child may still
	// report.
	killGrace = 100 * time.Millisecond
	// cancelGrace is the time for cancelled calls to report their outcome.
	cancelGrace = 100 * time.Millisecond
	// maxDiagnostics is the maximum number of reported compiler lines.
	maxDiagnostics = 20
	// typecheckTimeout limits the compiler's run time.
	typecheckTimeout = 10 * time.Second
	// traceQueue is the maximum number of finished runs waiting to be stored.
	traceQueue = 64
	// storeTimeout limits storing one trace.
	storeTimeout = 5 * time.Second
	// maxKeptDeclarations limits the cached declarations of whole projects, in
	// bytes.
	maxKeptDeclarations = 64 << 20
)
