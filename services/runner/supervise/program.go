//go:build linux || darwin

// Package supervise runs the programs of local servers: it starts them when they
// are needed, shares their processes between callers, and ends those that are
// idle, too large or not needed.
package supervise

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"mcpgateway/services/background"
	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/process"
	"mcpgateway/services/runner/stdio"
	"mcpgateway/services/runners/wire"
)

// ErrAgain is the error of Options.Open for a process that ended at the probe.
// Another process is started at once; the end is no crash.
var ErrAgain = errors.New("the program ended at the probe")

// Options configure a Program.
type Options struct {
	Entry       *entry.Entry
	Held        bool // the entry is new in the file and waits for a reload
	Environment entry.Environment
	ReadFile    func(path string) ([]byte, error) // of the envFile
	Runner      string                            // ID of the runner
	Start       func(process.Spec) (*process.Process, error)
	// Open completes the handshake with a new process. It calls SetPeer first. Its
	// context ends after the entry's startTimeout. key is that of Acquire, or
	// empty if the program starts without a caller: Open can then assign one.
	Open    func(ctx context.Context, p *Process, key string) error
	Limits  *Limits // shared by the programs of a runner
	Log     *slog.Logger
	Tasks   *background.Tasks
	Changed func() // is called after each change of the record; must not block; may be nil
}

// Clock is the source of time. AfterFunc calls f in its own goroutine after d.
type Clock interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) (stop func())
}

// LimitOptions configure Limits.
type LimitOptions struct {
	Processes int            // 1 to MaxProcesses; 0 means wire.MaxProcesses
	Clock     Clock          // nil means the system's
	Random    func() float64 // from 0 to below 1; nil means math/rand
	Tasks     *background.Tasks
}

// Limits are the limits that the programs of a runner share. It is safe for
// concurrent use.
type Limits struct{}

// NewLimits returns the limits of a runner.
func NewLimits(o LimitOptions) *Limits { panic("being built") }

// Program is a program of a file with its processes. It is safe for concurrent
// use.
type Program struct{}

// Unavailable is the error for a program that can't serve a call now.
type Unavailable struct {
	State wire.State
	Text  string // for example "Ended (exit code 1), again in 8 s"
	Line  string // the last line of the program's standard error, or empty
}

func (u *Unavailable) Error() string { panic("being built") }

// New returns the program of an entry. It starts nothing.
func New(o Options) *Program { panic("being built") }

// Run starts an eager program, now and after each end, until ctx ends. It returns
// at once.
func (p *Program) Run(ctx context.Context) {}

// Acquire returns a running process with a key, which the caller must release. It
// shares the process of that key, or starts one, and waits for it until ctx ends.
// The start continues when its callers give up. The error is *Unavailable, or
// wraps that of ctx.
func (p *Program) Acquire(ctx context.Context, key string) (*Process, error) { panic("being built") }

// Record describes the program.
func (p *Program) Record() wire.Server { panic("being built") }

// Log returns the latest output of the program's processes.
func (p *Program) Log() wire.Log { panic("being built") }

// Entry returns the entry in use. The caller must not change it.
func (p *Program) Entry() *entry.Entry { panic("being built") }

// Update replaces the entry. Settings apply at once. If the command differs, the
// processes end after their calls, and the states backoff and failed are left.
func (p *Program) Update(e *entry.Entry) {}

// SetHeld sets whether the file has a command that waits for a reload. False also
// leaves the state held.
func (p *Program) SetHeld(held bool) {}

// Retry leaves the states backoff and failed. A reload calls it.
func (p *Program) Retry() {}

// Restart ends all processes and starts one when they have ended. It returns at
// once.
func (p *Program) Restart() {}

// Stop ends all processes. The next call starts the program again. It returns at
// once.
func (p *Program) Stop() {}

// Close waits for the calls in flight, ends all processes and returns when none
// is left. When ctx ends, it doesn't wait for the programs any more.
func (p *Program) Close(ctx context.Context) {}

// Peer receives the messages of a process. Its functions are called in order and
// must not block. Messages before SetPeer wait for it.
type Peer struct {
	Notify func(method string, params []byte)
	Serve  func(id []byte, method string, params []byte)
}

// Process is a process of a program.
type Process struct{}

// Program returns the program of the process.
func (p *Process) Program() *Program { panic("being built") }

// Hash returns the hash of the command that the process runs.
func (p *Process) Hash() string { panic("being built") }

// Key returns the key by which callers share the process.
func (p *Process) Key() string { panic("being built") }

// Assign replaces the key.
func (p *Process) Assign(key string) {}

// Conn returns the connection with the process.
func (p *Process) Conn() *stdio.Conn { panic("being built") }

// SetPeer sets the receiver of the process's messages. It must be called once, by
// Options.Open.
func (p *Process) SetPeer(peer Peer) {}

// Output is closed at the first output of the process: on standard output or
// standard error.
func (p *Process) Output() <-chan struct{} { panic("being built") }

// Release ends the use of the process by one caller of Acquire. Each caller must
// call it once.
func (p *Process) Release() {}

// End ends the process because it is not needed. This is no crash. It returns at
// once.
func (p *Process) End() {}

// Done is closed when the process has ended. Calls at it fail before that.
func (p *Process) Done() <-chan struct{} { panic("being built") }

// Exit returns why the process ended, for example "exit code 1". It must be called
// only after Done is closed.
func (p *Process) Exit() string { panic("being built") }
