//go:build linux || darwin

package supervise

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runners/wire"
)

// Times and limits of crashes.
const (
	minBackoff    = time.Second // after the first crash; doubles
	maxBackoff    = time.Minute
	backoffSpread = 0.2         // of the time, in both directions
	steadyTime    = time.Minute // a run that lasts this long resets the time
	maxCrashes    = 5           // in crashWindow; then the state is failed
	crashWindow   = 10 * time.Minute
	failedTime    = 10 * time.Minute // after this, a call leaves the state failed
)

// Texts of states.
const heldText = "Changed in the file: reload needed"

var crashesText = fmt.Sprintf("Ended %d times in %d minutes", maxCrashes, int(crashWindow.Minutes()))

// Unavailable is the error for a program that can't serve a call now.
type Unavailable struct {
	State wire.State
	Text  string // for example "Ended (exit code 1), again in 8 s"
	Line  string // the last line of the program's standard error, or empty
}

func (u *Unavailable) Error() string { return withLine(u.Text, u.Line) }

func withLine(text, line string) string {
	if line == "" {
		return text
	}
	return text + ": " + line
}

// state returns the state of the program. The caller must hold mu.
func (p *Program) state() wire.State {
	in := func(wanted phase) bool {
		return slices.ContainsFunc(p.runs, func(r *run) bool { return r.phase == wanted })
	}
	switch {
	case p.pending:
		return wire.StateHeld
	case p.failure != "":
		return wire.StateFailed
	case in(running):
		return wire.StateRunning
	case in(opening):
		return wire.StateStarting
	case !p.retryAt.IsZero():
		return wire.StateBackoff
	}
	return wire.StateStopped
}

// summary is the part of a record whose changes are reported.
type summary struct {
	state     wire.State
	failure   string
	retryAt   time.Time
	hash      string
	settings  entry.Settings
	held      bool
	restarts  int64
	processes int
	lastExit  string
}

// refresh updates the state and reports whether the record differs. The caller
// must hold mu.
func (p *Program) refresh() bool {
	now := summary{p.state(), p.failure, p.retryAt, p.hash, p.entry.Settings, p.held, p.restarts, p.processes(), p.lastExit}
	if now == p.shown {
		return false
	}
	if now.state != p.shown.state {
		p.since = p.clock().Now()
	}
	p.shown = now
	return true
}

// processes returns the number of processes. The caller must hold mu.
func (p *Program) processes() int {
	count := 0
	for _, r := range p.runs {
		if r.process != nil {
			count++
		}
	}
	return count
}

// Record describes the program.
func (p *Program) Record() wire.Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.entry
	record := wire.Server{
		Name: p.name, Hash: p.hash, State: p.state(), Since: p.since, Restarts: p.restarts, Held: p.held, Program: e.Program,
		Processes: p.processes(), LastExit: p.lastExit, Starts: p.starts.Load(), StrayLines: p.stray.Load(),
		SessionMode: "shared", Roots: e.Roots, StartTimeoutMS: e.StartTimeout.Milliseconds(),
	}
	if e.PerClient {
		record.SessionMode = "per-client"
	}
	for _, r := range p.runs {
		record.Memory += r.memory
	}
	if record.State == wire.StateBackoff {
		at := p.retryAt
		record.RetryAt = &at
	}
	record.Message = p.message(record.State)
	return record
}

// message explains a state. The caller must hold mu.
func (p *Program) message(state wire.State) string {
	now := p.clock().Now()
	switch state {
	case wire.StateHeld:
		return heldText
	case wire.StateFailed:
		return p.failure
	case wire.StateBackoff:
		return p.backoffText(now)
	case wire.StateStarting:
		i := slices.IndexFunc(p.runs, func(r *run) bool { return r.phase == opening })
		return p.runs[i].startingText(now)
	}
	return ""
}

// startingText describes a run in the phase opening. The caller must hold the
// program's mu.
func (r *run) startingText(now time.Time) string {
	return withLine(fmt.Sprintf("Starting, %d s", int(now.Sub(r.began).Seconds())), r.process.line())
}

func (p *Program) backoffText(now time.Time) string {
	return fmt.Sprintf("%s, again in %d s", p.exitText, max(1, int(math.Ceil(p.retryAt.Sub(now).Seconds()))))
}

// fail sets the state failed. The caller must hold mu.
func (p *Program) fail(text string) {
	p.cancelRetry()
	p.failure, p.failedAt = text, p.clock().Now()
}

// clear leaves the states failed and backoff. The caller must hold mu.
func (p *Program) clear() {
	p.cancelRetry()
	p.failure, p.exitLine, p.attempts, p.ends = "", "", 0, nil
}

// cancelRetry cancels the next automatic start. The caller must hold mu.
func (p *Program) cancelRetry() {
	p.retry()
	p.retryAt = time.Time{}
}

// notEntered handles a start that got no process of the runner, or was ended
// before. The caller must hold mu.
func (p *Program) notEntered(r *run, err error) {
	r.refuse(err)
	var full *Unavailable
	if cause := context.Cause(r.ctx); cause == nil && errors.As(err, &full) && p.isKept() {
		p.backOff(full.Text, "")
	}
}

// notOpened handles a start that failed. The caller must hold mu.
func (p *Program) notOpened(r *run, one *Process, err error) {
	var violated violation
	cause := context.Cause(r.ctx)
	if errors.As(cause, &violated) {
		err = violated
	} else if cause != nil {
		r.refuse(cause)
		return
	}
	p.lastExit, p.exitLine = err.Error(), one.line()
	var forever permanent
	if errors.As(err, &forever) {
		p.fail(err.Error())
	} else {
		p.crash(r, err.Error())
	}
	r.phase = ending
	r.refuse(p.refusal())
}

// ended handles the end of a running process that was not requested. A lazy
// program may end without an error when it has no calls. The caller must hold mu.
func (p *Program) ended(r *run, one *Process, reason string) {
	r.phase = ending
	p.lastExit = reason
	quiet := isClosed(one.child.Done()) && !one.child.Failed() && context.Cause(r.ctx) == nil
	if quiet && r.uses == 0 && p.entry.Start == entry.Lazy || r.retiring {
		return
	}
	p.exitLine = one.line()
	p.crash(r, reason)
}

// crash counts a crash and schedules the next start, or sets the state failed. The
// caller must hold mu.
func (p *Program) crash(r *run, reason string) {
	now := p.clock().Now()
	if !r.steady.IsZero() && now.Sub(r.steady) >= steadyTime {
		p.attempts = 0
	}
	p.ends = append(slices.DeleteFunc(p.ends, func(at time.Time) bool { return now.Sub(at) > crashWindow }), now)
	p.crashed = true
	if len(p.ends) >= maxCrashes {
		p.fail(crashesText)
		return
	}
	p.backOff("Ended ("+reason+")", r.key)
}

// backOff schedules the next start. At its time, programs start again that are
// eager, or that several clients share. The caller must hold mu.
func (p *Program) backOff(text, key string) {
	p.cancelRetry()
	if p.closed {
		return
	}
	delay := backoff(p.attempts, p.o.Limits.random())
	p.attempts++
	at := p.clock().Now().Add(delay)
	p.exitText, p.retryAt = text, at
	p.retry = p.clock().After(delay, "program retry", func() {
		p.change(func() {
			if !p.retryAt.Equal(at) {
				return
			}
			p.retryAt = time.Time{}
			if p.isKept() {
				p.startEager()
			} else if p.live() == 0 && p.refusal() == nil && !p.entry.PerClient {
				if after, ok := p.room(); ok {
					p.begin(key, after)
				}
			}
		})
	})
}

// backoff returns the time before a start after a number of earlier crashes.
// random is from 0 to below 1.
func backoff(earlier int, random float64) time.Duration {
	base := maxBackoff
	if earlier < 6 { // 64 s is above the maximum
		base = minBackoff << earlier
	}
	return time.Duration(float64(base) * (1 - backoffSpread + 2*backoffSpread*random))
}
