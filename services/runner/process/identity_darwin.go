package process

// Identity identifies a process.
type Identity struct {
	PID   int    `json:"pid"`
	Start string `json:"start"`
}

// Unmarked returns nothing: without subreapers such processes are not found.
func Unmarked() []Identity { return nil }

// KillSame kills nothing.
func KillSame([]Identity) int { return 0 }
