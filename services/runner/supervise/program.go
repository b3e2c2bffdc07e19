//go:build linux || darwin

// Package supervise runs the programs of local servers: it starts them when they
// are needed, shares their processes between callers, and ends those that are
// idle, too large or not needed.
package supervise

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"mcpgateway/services/background"
	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/process"
	"mcpgateway/services/runners/wire"
)

// ErrAgain is the error of Options.Open for a process that ended at the probe.
// Another process is started at once; the end does not count as a crash.
var ErrAgain = errors.New("the program ended at the probe")

// Options configure a Program.
type Options struct {
	Entry       *entry.Entry
	Held        bool // the entry is new in the file and waits for a reload
	Environment entry.Environment
	ReadFile    func(path string) ([]byte, error) // of the envFile
	Runner      string                            // ID of the runner
	Start       func(process.Spec) (*process.Process, error)
	// Open completes the handshake with a new process. It calls SetPeer first.
	// Its context ends after the entry's startTimeout. key is that of Acquire,
	// or empty if the program starts without a caller: Open can assign one.
	Open    func(ctx context.Context, p *Process, key string) error
	Limits  *Limits // shared by the programs of a runner
	Log     *slog.Logger
	Tasks   *background.Tasks
	Changed func() // is called after changes of the record; must not block; may be nil
}

// Program is a program of a file with its processes. It is safe for concurrent
// use.
type Program struct {
	o      Options
	name   string
	lines  history
	starts atomic.Int64
	stray  atomic.Int64
	ending sync.WaitGroup // counts runs

	mu        sync.Mutex
	entry     *entry.Entry
	hash      string
	pending   bool            // the first command waits for a reload
	held      bool            // another command waits for a reload
	automatic context.Context // while it lasts, eager programs start; nil before Run
	paused    bool            // stopped until the next call
	closed    bool
	runs      []*run

	failure  string      // why it is not started; "" for none
	failedAt time.Time   // of failure
	ends     []time.Time // of the latest crashes
	attempts int         // crashes since a run of steadyTime
	crashed  bool        // since the latest start
	retryAt  time.Time   // zero for none
	retry    func()      // stops the timer of retryAt
	exitText string      // explains retryAt
	exitLine string      // the last line of standard error at the latest crash
	lastExit string
	restarts int64

	shown summary // the latest record
	since time.Time
}

// New returns the program of an entry. It starts nothing. The caller must call
// Close.
func New(o Options) *Program {
	p := &Program{o: o, name: o.Entry.Name, entry: o.Entry, hash: o.Entry.Hash(), pending: o.Held, held: o.Held, retry: func() {}}
	p.since = p.clock().Now()
	if o.Entry.Problem != "" {
		p.fail(o.Entry.Problem)
	}
	p.refresh()
	o.Limits.add(p)
	return p
}

func (p *Program) clock() Clock { return p.o.Limits.clock }

// change calls f with the lock held, and then Changed if the record differs.
func (p *Program) change(f func()) {
	p.mu.Lock()
	f()
	changed := p.refresh()
	p.mu.Unlock()
	if changed && p.o.Changed != nil {
		p.o.Changed()
	}
}

// Run starts an eager program, now and after each end, until ctx ends. It returns
// at once.
func (p *Program) Run(ctx context.Context) {
	p.change(func() {
		p.automatic = ctx
		p.startEager()
	})
}

// Entry returns the entry in use. The caller must not change it.
func (p *Program) Entry() *entry.Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.entry
}

// Log returns the latest output of the program's processes.
func (p *Program) Log() wire.Log { return wire.Log{Lines: p.lines.all()} }

// Update replaces the entry. Settings apply at once. If the command or the
// session mode differs, the processes end after their calls, and the states
// backoff and failed are left.
func (p *Program) Update(e *entry.Entry) {
	hash := e.Hash()
	p.change(func() {
		other := hash != p.hash || e.PerClient != p.entry.PerClient
		mended := p.entry.Problem != ""
		p.entry, p.hash = e, hash
		if other || e.Problem != "" {
			p.retireAll()
		}
		if other || mended {
			p.clear()
		}
		if e.Problem != "" {
			p.fail(e.Problem)
		}
		for r := p.longestIdle(); r != nil && p.live() > e.MaxProcesses; r = p.longestIdle() {
			r.end(errReplaced)
		}
		p.startEager()
	})
}

// SetHeld sets whether the file has a command that waits for a reload. False also
// leaves the state held.
func (p *Program) SetHeld(held bool) {
	p.change(func() {
		p.held = held
		p.pending = p.pending && held
		p.startEager()
	})
}

// Retry leaves the states backoff and failed. A reload calls it.
func (p *Program) Retry() {
	p.change(func() {
		if p.entry.Problem == "" {
			p.clear()
		}
		p.paused = false
		p.startEager()
	})
}

// Restart ends all processes, and starts one when they have ended. It returns at
// once.
func (p *Program) Restart() {
	p.change(func() {
		if p.closed || p.pending {
			return
		}
		for _, r := range p.runs {
			r.end(errReplaced)
		}
		p.clear()
		p.crashed = true // counts as a restart
		p.begin("", p.runs)
	})
}

// Stop ends all processes. The next call starts the program again. It returns at
// once.
func (p *Program) Stop() {
	p.change(func() {
		p.paused = true
		p.cancelRetry()
		for _, r := range p.runs {
			r.end(errStopped)
		}
	})
}

// Close waits for the calls in flight, but not longer than ctx, ends all processes
// and returns when none is left.
func (p *Program) Close(ctx context.Context) {
	p.change(func() {
		p.closed = true
		p.cancelRetry()
		p.retireAll()
	})
	stop := context.AfterFunc(ctx, p.o.Tasks.Func("end of calls", func() {
		p.change(func() {
			for _, r := range p.runs {
				r.end(errEnding)
			}
		})
	}))
	p.ending.Wait()
	stop()
	p.o.Limits.remove(p)
}
