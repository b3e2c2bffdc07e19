package sandbox

import "time"

// Limits of the code that a child runs and of what it exchanges with the gateway.
const (
	// MaxCode is the longest code, in bytes.
	MaxCode = 64 << 10
	// MaxCPU is the processor time of a run's own code, without its waits.
	MaxCPU = 5 * time.Second
	// MaxMemory is what the engine gives to the code, in bytes.
	MaxMemory = 64 << 20
	// MaxCalls is how many tool calls a run may make.
	MaxCalls = 100
	// MaxArguments is the longest arguments object of one call, in bytes.
	MaxArguments = 1 << 20
	// MaxResult is the longest result that leaves a run, in bytes of JSON.
	MaxResult = 64 << 10
	// MaxLogLines and MaxLogBytes bound what the console keeps.
	MaxLogLines = 200
	MaxLogBytes = 32 << 10
	// MaxFetches is how many requests the code of a run may send.
	MaxFetches = 20
	// maxFrame is the longest message between the gateway and a child.
	MaxFrame = 12 << 20
	// maxLogLine is the longest line of the console.
	MaxLogLine = 8 << 10
	// maxErrorText is the longest message of an error.
	MaxErrorText = 2 << 10
)

const (
	// stubbornGrace is how long a child's engine may take to see that it must
	// stop.
	stubbornGrace = 40 * time.Millisecond
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
	// maxTrouble is how much a child's standard error is read.
	maxTrouble = 4 << 10
	// maxRawResult is the longest result that a child looks at before it is
	// cut to MaxResult.
	maxRawResult = 8 << 20
	// maxTimers is how many timers may be set at once.
	maxTimers = 1000
	// compilerMemory and compilerSeconds bound the compiler: its data in bytes
	// and its processor time.
	compilerMemory  = 2 << 30
	compilerSeconds = 20
)
