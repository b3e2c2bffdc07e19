package wire

import "time"

// State is the state of a program.
type State string

// The states of a program at its runner. A gateway adds StateUndeclared and
// StateOffline.
const (
	StateStopped  State = "stopped"
	StateStarting State = "starting" // until its first response
	StateRunning  State = "running"
	StateBackoff  State = "backoff" // ended; it is started again at RetryAt
	StateFailed   State = "failed"  // not started again automatically
	StateHeld     State = "held"    // new in the file, which was not reloaded yet

	StateUndeclared State = "undeclared" // in no file of a live runner
	StateOffline    State = "offline"    // the runner is not connected
)

// List describes a runner and its programs.
type List struct {
	Version int      `json:"version"`
	Runner  string   `json:"runner"` // its ID
	Files   []File   `json:"files"`
	Servers []Server `json:"servers"`
}

// File is a file of programs.
type File struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // in hex
}

// Server is a program of a runner.
type Server struct {
	// Name is the name in the file; with `serve --config` it is PROJECT/ALIAS.
	Name  string    `json:"name"`
	Hash  string    `json:"hash"` // of the command that is in use
	State State     `json:"state"`
	Since time.Time `json:"since"` // of State
	// Message explains the state for people, for example "Ended (exit code 1), again in 8 s".
	Message  string     `json:"message,omitempty"`
	Restarts int64      `json:"restarts"`
	RetryAt  *time.Time `json:"retryAt,omitempty"`

	Held        bool   `json:"held,omitempty"` // the file has another command, which waits for a reload
	Program     string `json:"program"`        // as written, without arguments
	Processes   int    `json:"processes"`
	Memory      int64  `json:"memory"` // bytes
	LastExit    string `json:"lastExit,omitempty"`
	Starts      int64  `json:"starts"`
	StrayLines  int64  `json:"strayLines"`
	SessionMode string `json:"sessionMode"` // shared or per-client
	Roots       bool   `json:"roots,omitempty"`
	// StartTimeoutMS is the maximum time of a start.
	StartTimeoutMS int64 `json:"startTimeoutMs"`
}

// Log is the latest output of a program's processes.
type Log struct {
	Lines []Line `json:"lines"` // at most MaxLogLines, oldest first
}

// Line is a line of a program's standard error, or of standard output if it is
// not a message; then it starts with "stdout: ".
type Line struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// Limits of a runner.
const (
	MaxServers    = 200  // of one runner
	MaxSessions   = 1000 // of one process
	MaxCalls      = 64   // in flight of one process
	MaxLogLines   = 200
	MaxLogLine    = 4 << 10 // bytes
	MaxStarts     = 4       // at the same time
	MaxProcesses  = 32      // by default; at most 500
	MaxConnectors = 20      // of a project
)

// Error is the body of an unsuccessful response of a runner, except on the path of
// Streamable HTTP.
type Error struct {
	Message string `json:"message"`
}
