//go:build linux || darwin

package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runners/wire"
)

// Acquire returns a running process with a key, which the caller must release. It
// shares the process of that key, or starts one, and waits for it until ctx ends.
// The start continues when its callers give up. Processes with the empty key make
// room before others. The error is *Unavailable, or wraps that of ctx.
func (p *Program) Acquire(ctx context.Context, key string) (*Process, error) {
	for {
		r, err := p.join(key)
		if err != nil {
			return nil, err
		}
		select {
		case <-r.opened:
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", p.giveUp(r), ctx.Err())
		}
		if r.err == nil {
			return r.process, nil
		}
		if !errors.Is(r.err, errReplaced) {
			return nil, r.err
		}
	}
}

// join adds a use to the run with a key, or to a new one.
func (p *Program) join(key string) (r *run, err error) {
	p.change(func() {
		if r = p.find(key); r == nil {
			r, err = p.startFor(key)
		}
		switch {
		case err != nil:
		case r.uses >= wire.MaxCalls:
			err = &Unavailable{State: p.state(), Text: fmt.Sprintf("%d calls are in flight", r.uses)}
		default:
			r.uses++
		}
	})
	return r, err
}

// find returns a run with a key that can be shared, a running one first, or nil.
// The caller must hold mu.
func (p *Program) find(key string) *run {
	if p.closed {
		return nil
	}
	for _, wanted := range []phase{running, opening} {
		i := slices.IndexFunc(p.runs, func(r *run) bool {
			return r.phase == wanted && r.key == key && !r.retiring && r.ctx.Err() == nil
		})
		if i >= 0 {
			return p.runs[i]
		}
	}
	return nil
}

// startFor starts the program for a call, or returns *Unavailable. The caller must
// hold mu.
func (p *Program) startFor(key string) (*run, error) {
	if p.failure != "" && p.clock().Now().Sub(p.failedAt) >= failedTime {
		p.clear()
	}
	if err := p.refusal(); err != nil {
		return nil, err
	}
	after, ok := p.room()
	if !ok {
		return nil, &Unavailable{State: p.state(), Text: fmt.Sprintf("All its processes are in use (%d)", p.entry.MaxProcesses)}
	}
	return p.begin(key, after), nil
}

// refusal returns why the program can't start now, or nil. The caller must hold
// mu.
func (p *Program) refusal() error {
	now := p.clock().Now()
	switch {
	case p.closed:
		return errEnding
	case p.pending:
		return &Unavailable{State: wire.StateHeld, Text: heldText}
	case p.failure != "":
		return &Unavailable{State: wire.StateFailed, Text: p.failure, Line: p.exitLine}
	case now.Before(p.retryAt):
		return &Unavailable{State: wire.StateBackoff, Text: p.backoffText(now), Line: p.exitLine}
	}
	return nil
}

// room ends idle processes until another one is within the entry's limit. It
// returns the runs to wait for: those that are ending already, or end after their
// calls, before idle ones. The caller must hold mu.
func (p *Program) room() (after []*run, ok bool) {
	count := 0
	var leaving []*run
	for _, r := range p.runs {
		if r.isReplaced() {
			continue
		}
		if count++; r.phase == ending || r.retiring {
			leaving = append(leaving, r)
		}
	}
	for ; count >= p.entry.MaxProcesses; count-- {
		if len(leaving) == 0 {
			idle := p.longestIdle()
			if idle == nil {
				return nil, false
			}
			idle.end(errReplaced)
			leaving = append(leaving, idle)
		}
		after, leaving = append(after, leaving[0]), leaving[1:]
	}
	return after, true
}

// longestIdle returns the process without calls that makes room first, or nil:
// those with the empty key before others. The caller must hold mu.
func (p *Program) longestIdle() *run {
	var longest *run
	for _, r := range p.runs {
		if r.phase != running || r.uses > 0 {
			continue
		}
		if longest == nil || r.key == "" && longest.key != "" || (r.key == "") == (longest.key == "") && r.idleSince.Before(longest.idleSince) {
			longest = r
		}
	}
	return longest
}

// release ends a use of a run.
func (p *Program) release(r *run) {
	p.change(func() { p.unuse(r) })
}

// giveUp ends the use of a run by a caller that waits for it, and describes the
// start.
func (p *Program) giveUp(r *run) (text string) {
	p.change(func() {
		p.unuse(r)
		text = r.startingText(p.clock().Now())
	})
	return text
}

// unuse ends a use of a run. The caller must hold mu.
func (p *Program) unuse(r *run) {
	if r.uses--; r.uses > 0 {
		return
	}
	r.idleSince = p.clock().Now()
	if r.retiring {
		r.end(errReplaced)
	}
}

// retireAll ends all runs after their calls. Starts end at once. The caller must
// hold mu.
func (p *Program) retireAll() {
	for _, r := range p.runs {
		r.retiring = true
		if r.phase == opening || r.uses == 0 {
			r.end(errReplaced)
		}
	}
}

// forget removes a run that has ended. The caller must hold mu.
func (p *Program) forget(r *run) {
	p.runs = slices.DeleteFunc(p.runs, func(one *run) bool { return one == r })
}

// startEager starts an eager program that has no process. The caller must hold mu.
func (p *Program) startEager() {
	if p.isKept() && !p.paused && p.retryAt.IsZero() && p.refusal() == nil && p.live() == 0 {
		if after, ok := p.room(); ok {
			p.begin("", after)
		}
	}
}

// isKept reports whether one process shall always run. The caller must hold mu.
func (p *Program) isKept() bool {
	return p.entry.Start == entry.Eager && p.automatic != nil && p.automatic.Err() == nil
}

// live returns the number of runs that new callers can share. The caller must hold
// mu.
func (p *Program) live() int {
	count := 0
	for _, r := range p.runs {
		if r.phase != ending && !r.retiring {
			count++
		}
	}
	return count
}

// spare returns the process without calls that makes room first for other
// programs, and since when it has none. ends reports whether a process is ending.
func (p *Program) spare() (idle *run, since time.Time, ends bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.runs {
		ends = ends || r.phase == ending && r.placed
	}
	if idle = p.longestIdle(); idle == nil || p.isKept() && p.live() == 1 {
		return nil, since, ends
	}
	return idle, idle.idleSince, ends
}

// endIdle ends a process if it has no calls, and reports whether it ends.
func (p *Program) endIdle(r *run) (ends bool) {
	p.change(func() {
		if r.phase == running && r.uses == 0 {
			r.end(errReplaced)
		}
		ends = r.phase == ending
	})
	return ends
}

// check records the memory of a run, and ends it if it is too large or was idle
// for too long.
func (p *Program) check(r *run, bytes int64) {
	p.change(func() {
		r.memory = bytes
		switch limit, idle := p.entry.Memory, p.entry.IdleTimeout; {
		case r.phase == ending:
		case limit > 0 && bytes > limit<<20:
			r.cancel(violation(fmt.Sprintf("memory above %d MiB", limit)))
		case r.phase != running, r.uses > 0, idle == 0, p.isKept() && p.live() == 1:
		case p.clock().Now().Sub(r.idleSince) >= idle:
			r.end(errStopped)
		}
	})
}
