package sandbox

// Phase is the part of a run that failed.
type Phase string

// The phases of a failure.
const (
	PhaseParse     Phase = "parse"     // the code is not valid TypeScript
	PhaseTypecheck Phase = "typecheck" // the compiler rejected it; nothing ran
	PhaseRuntime   Phase = "runtime"   // it threw an error
	PhaseTimeout   Phase = "timeout"   // it exceeded its wall or processor time
	PhaseMemory    Phase = "memory"    // it exceeded its memory or stack
	PhaseLimit     Phase = "limit"     // it exceeded a count limit, or no slot was free
	PhaseCancelled Phase = "cancelled" // the client cancelled or disconnected
)

// RunError is the reason for a failed run. Line and Column count from 1 in the
// submitted code; 0 means unknown. Stack has only the frames of that code.
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
