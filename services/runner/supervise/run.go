//go:build linux || darwin

package supervise

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/process"
	"mcpgateway/services/runners/wire"
)

// phase is a part of a run.
type phase int

const (
	opening phase = iota // until Options.Open has succeeded
	running
	ending
)

// run is a start of a program, and the process that it leads to.
type run struct {
	program *Program
	entry   *entry.Entry
	hash    string
	began   time.Time
	after   []<-chan struct{} // ends of the runs that make room
	ctx     context.Context   // ended by end, and by violations
	cancel  context.CancelCauseFunc
	opened  chan struct{} // closed at the end of the phase opening
	gone    chan struct{} // closed when nothing is left

	// These are guarded by the program's mu, and final when opened is closed.
	process *Process // the latest
	err     error    // why there is no process

	// These are guarded by the program's mu.
	phase     phase
	key       string
	placed    bool // counts in the processes of the runner
	retiring  bool // ends after its calls
	successor *run // waits for its end; nil for none
	uses      int  // callers of Acquire, with those that wait
	idleSince time.Time
	steady    time.Time // start of the phase running
	memory    int64
}

// Causes for the end of a run that do not count as crashes. Callers that wait for a
// replaced one wait for another.
var (
	errReplaced = errors.New("replaced")
	errStopped  = &Unavailable{State: wire.StateStopped, Text: "Stopped"}
	errEnding   = &Unavailable{State: wire.StateStopped, Text: "The runner is ending"}
)

// violation is a cause for the end of a run that is a crash.
type violation string

func (v violation) Error() string { return string(v) }

// permanent is an error of an entry that another start would have too.
type permanent struct{ error }

// end ends the run. The caller must hold the program's mu.
func (r *run) end(cause error) {
	if r.phase != ending {
		r.phase = ending
		r.cancel(cause)
	}
}

// isReplaced reports whether another run waits for the end of this one. The caller
// must hold the program's mu.
func (r *run) isReplaced() bool { return r.successor != nil && r.successor.phase != ending }

// begin starts the program after the end of other runs. The caller must hold mu.
func (p *Program) begin(key string, after []*run) *run {
	r := &run{program: p, entry: p.entry, hash: p.hash, key: key, began: p.clock().Now(), opened: make(chan struct{}), gone: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	for _, earlier := range after {
		earlier.successor = r
		r.after = append(r.after, earlier.gone)
	}
	p.runs = append(p.runs, r)
	p.cancelRetry()
	if p.crashed {
		p.crashed = false
		p.restarts++
	}
	p.paused = false
	p.ending.Add(1)
	p.o.Tasks.Go("program", r.live)
	return r
}

// live starts a process and supervises it until nothing of it is left.
func (r *run) live() {
	p := r.program
	defer func() {
		r.cancel(errStopped)
		p.change(func() {
			r.refuse(errStopped) // unless it was opened
			p.forget(r)
			close(r.gone)
			p.startEager()
		})
		p.ending.Done()
	}()
	if err := r.enter(); err != nil {
		p.change(func() { p.notEntered(r, err) })
		return
	}
	defer p.o.Limits.release()
	if one := r.open(); one != nil {
		r.supervise(one)
	}
}

// enter waits for room, for other starts and for a process of the runner. After
// success, a start is in progress.
func (r *run) enter() error {
	for _, gone := range r.after {
		select {
		case <-gone:
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		}
	}
	limits := r.program.o.Limits
	if err := limits.beginStart(r.ctx); err != nil {
		return err
	}
	if err := limits.acquire(r.ctx); err != nil {
		limits.endStart()
		return err
	}
	r.program.change(func() { r.placed = true })
	return nil
}

// maxProbes is the maximum number of processes that end at the probe in one
// start.
const maxProbes = 2

// open starts processes until one is open, and returns it. Otherwise it returns
// nil, after their ends.
func (r *run) open() *Process {
	p := r.program
	defer p.o.Limits.endStart()
	timeout := p.clock().After(r.entry.StartTimeout, "program start timeout", func() {
		p.change(func() {
			if r.phase == opening {
				r.cancel(violation(fmt.Sprintf("no answer within %d s", int(r.entry.StartTimeout.Seconds()))))
			}
		})
	})
	defer timeout()
	for probes := 0; ; probes++ {
		one, err := r.launch()
		if err != nil {
			p.change(func() { p.notOpened(r, nil, err) })
			return nil
		}
		if err = r.handshake(one); err == nil {
			return one
		}
		again := errors.Is(err, ErrAgain) && probes < maxProbes && r.ctx.Err() == nil
		if !again {
			reason := errors.New(one.reason(err))
			p.change(func() { p.notOpened(r, one, reason) })
		}
		one.dispose()
		if !again {
			return nil
		}
	}
}

// launch starts a process.
func (r *run) launch() (*Process, error) {
	p := r.program
	if r.ctx.Err() != nil {
		return nil, context.Cause(r.ctx)
	}
	spec, err := p.specification(r.entry)
	if err != nil {
		return nil, permanent{err}
	}
	child, err := p.o.Start(spec)
	var missing *process.NotFound
	if errors.As(err, &missing) {
		return nil, permanent{missing}
	}
	if err != nil {
		return nil, err
	}
	p.starts.Add(1)
	one := r.newProcess(child, spec)
	p.change(func() { r.process = one })
	p.o.Limits.watch(one)
	p.o.Log.Info("program started", "program", p.name, "pid", child.PID())
	return one, nil
}

// handshake opens a process. A nil error means that it is running.
func (r *run) handshake(one *Process) error {
	p := r.program
	err := p.o.Tasks.Try("program handshake", func() error { return p.o.Open(r.ctx, one, one.Key()) })
	one.SetPeer(Peer{})
	if err != nil {
		return err
	}
	p.change(func() {
		if r.ctx.Err() != nil {
			err = context.Cause(r.ctx)
			return
		}
		r.phase, r.steady = running, p.clock().Now()
		r.idleSince = r.steady
		close(r.opened)
	})
	return err
}

// refuse ends the phase opening with an error. The caller must hold the program's
// mu.
func (r *run) refuse(err error) {
	if !isClosed(r.opened) {
		r.phase, r.err = ending, err
		close(r.opened)
	}
}

// supervise waits for the end of a running process.
func (r *run) supervise(one *Process) {
	p := r.program
	select {
	case <-one.child.Done():
	case <-one.conn.Done():
	case <-r.ctx.Done():
	}
	p.mu.Lock()
	wanted := r.phase == ending
	p.mu.Unlock()
	if !wanted {
		reason := one.reason(nil)
		var violated violation
		if errors.As(context.Cause(r.ctx), &violated) {
			reason = string(violated)
		}
		one.finish(reason)
		p.change(func() { p.ended(r, one, reason) })
	}
	one.dispose()
}

// dispose ends a process and all that it started.
func (p *Process) dispose() {
	program := p.run.program
	p.child.Stop(context.Background())
	<-p.logged
	p.finish(p.child.Exit())
	p.removeContainers()
	program.o.Limits.unwatch(p)
	program.change(func() { program.lastExit = p.exit })
	program.o.Log.Info("program ended", "program", program.name, "pid", p.child.PID(), "exit", p.exit)
}
