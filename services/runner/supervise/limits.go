//go:build linux || darwin

package supervise

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"mcpgateway/services/background"
	"mcpgateway/services/runner/process"
	"mcpgateway/services/runners/wire"
)

// MaxProcesses is the maximum of LimitOptions.Processes.
const MaxProcesses = 500

// checkInterval is the time between checks of memory and idle processes.
const checkInterval = 2 * time.Second

// Clock is the source of time. After calls f after d in its own goroutine, unless
// stop is called first.
type Clock interface {
	Now() time.Time
	After(d time.Duration, task string, f func()) (stop func())
}

type systemClock struct{ tasks *background.Tasks }

func (systemClock) Now() time.Time { return time.Now() }

func (c systemClock) After(d time.Duration, task string, f func()) func() {
	timer := time.AfterFunc(d, c.tasks.Func(task, f))
	return func() { timer.Stop() }
}

// LimitOptions configure Limits.
type LimitOptions struct {
	Processes int            // at most MaxProcesses; 0 means wire.MaxProcesses
	Clock     Clock          // nil means the system's
	Random    func() float64 // from 0 to below 1; nil means math/rand
	Tasks     *background.Tasks
}

// Limits are the limits that the programs of a runner share. It is safe for
// concurrent use.
type Limits struct {
	clock  Clock
	random func() float64
	max    int
	starts chan struct{} // has an element for each start in progress

	mu       sync.Mutex
	last     int64         // number of the latest process
	used     int           // processes, with those that are ending
	freed    chan struct{} // closed when used decreases
	programs map[*Program]bool
	watched  map[*Process]bool
	checking bool // the next check is scheduled
}

// NewLimits returns the limits of a runner.
func NewLimits(o LimitOptions) *Limits {
	l := &Limits{
		clock: o.Clock, random: o.Random, max: min(o.Processes, MaxProcesses), starts: make(chan struct{}, wire.MaxStarts),
		freed: make(chan struct{}), programs: map[*Program]bool{}, watched: map[*Process]bool{},
	}
	if l.clock == nil {
		l.clock = systemClock{o.Tasks}
	}
	if l.random == nil {
		l.random = rand.Float64
	}
	if l.max <= 0 {
		l.max = wire.MaxProcesses
	}
	return l
}

// marker returns the marker of the next process of a runner.
func (l *Limits) marker(runner string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	return runner + "." + strconv.FormatInt(l.last, 10)
}

func (l *Limits) add(p *Program) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.programs[p] = true
}

func (l *Limits) remove(p *Program) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.programs, p)
}

// beginStart waits until less than wire.MaxStarts starts are in progress.
func (l *Limits) beginStart(ctx context.Context) error {
	select {
	case l.starts <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *Limits) endStart() { <-l.starts }

// acquire reserves a process. At the limit, the longest idle process of all
// programs makes room. It returns *Unavailable if there is none.
func (l *Limits) acquire(ctx context.Context) error {
	for {
		l.mu.Lock()
		if l.used < l.max {
			l.used++
			l.mu.Unlock()
			return nil
		}
		freed, programs := l.freed, slices.Collect(maps.Keys(l.programs))
		l.mu.Unlock()
		if !makeRoom(programs) {
			return &Unavailable{State: wire.StateStopped, Text: fmt.Sprintf("All processes of the runner are in use (%d)", l.max)}
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (l *Limits) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used--
	close(l.freed)
	l.freed = make(chan struct{})
}

// makeRoom ends the longest idle process of the programs. It reports false if
// there is none, and none is ending.
func makeRoom(programs []*Program) bool {
	var longest *run
	var since time.Time
	ending := false
	for _, p := range programs {
		idle, at, ends := p.spare()
		ending = ending || ends
		if idle != nil && (longest == nil || at.Before(since)) {
			longest, since = idle, at
		}
	}
	return longest != nil && longest.program.endIdle(longest) || ending
}

// watch checks a process regularly until unwatch.
func (l *Limits) watch(p *Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watched[p] = true
	l.scheduleCheck()
}

// scheduleCheck schedules the next check. The caller must hold mu.
func (l *Limits) scheduleCheck() {
	if !l.checking && len(l.watched) > 0 {
		l.checking = true
		l.clock.After(checkInterval, "program check", l.check)
	}
}

func (l *Limits) unwatch(p *Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.watched, p)
}

// check measures the memory of all processes and ends those that are too large
// or idle.
func (l *Limits) check() {
	l.mu.Lock()
	watched := slices.Collect(maps.Keys(l.watched))
	l.mu.Unlock()
	children := make([]*process.Process, len(watched))
	for i, p := range watched {
		children[i] = p.child
	}
	for i, bytes := range process.Memories(children) {
		watched[i].run.program.check(watched[i].run, bytes)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checking = false
	l.scheduleCheck()
}
