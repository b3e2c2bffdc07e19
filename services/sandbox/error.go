package sandbox

// Phase says where a run failed.
type Phase string

// The phases of a failure.
const (
	PhaseParse     Phase = "parse"     // the code is not TypeScript
	PhaseTypecheck Phase = "typecheck" // the compiler refused it; nothing ran
	PhaseRuntime   Phase = "runtime"   // it threw
	PhaseTimeout   Phase = "timeout"   // it did not end within its wall or processor time
	PhaseMemory    Phase = "memory"    // it needed more memory or stack than it may
	PhaseLimit     Phase = "limit"     // it reached a number of calls, or no place was free
	PhaseCancelled Phase = "cancelled" // the client went away
)

// RunError is why a run failed. Line and column count from 1 in the submitted
// code; 0 is unknown. Stack holds the frames of that code only.
type RunError struct {
	Phase        Phase    `json:"phase"`
	Name         string   `json:"name"`
	Message      string   `json:"message"`
	Line         int      `json:"line,omitempty"`
	Column       int      `json:"column,omitempty"`
	Stack        []string `json:"stack,omitempty"`
	Tool         string   `json:"tool,omitempty"`
	CallSeq      int      `json:"callSeq,omitempty"`
	StartedCalls int      `json:"startedCalls"`
	Hint         string   `json:"hint,omitempty"`
	RetryAfterMS int64    `json:"retryAfterMs,omitempty"`
}
