// Package background starts goroutines whose panics end neither the process nor
// the callers that wait for them. Panics are logged and counted.
package background

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Delays before a loop that panicked runs again.
const (
	minRestartDelay = time.Second // after the first panic; doubles
	maxRestartDelay = time.Minute // a run that lasts longer resets the delay
)

// Tasks starts goroutines and recovers their panics. It is safe for concurrent
// use. A nil *Tasks also recovers panics: it logs them to slog.Default and does
// not count them.
type Tasks struct {
	log    *slog.Logger
	panics atomic.Int64
}

// New returns Tasks that log panics to log.
func New(log *slog.Logger) *Tasks { return &Tasks{log: log} }

// Panics returns the number of panics recovered since New.
func (t *Tasks) Panics() int64 { return t.panics.Load() }

// PanicError is the error of a task that panicked.
type PanicError struct {
	Task  string
	Value any // passed to panic
}

// Error implements error.
func (e *PanicError) Error() string { return fmt.Sprintf("panic in %s: %v", e.Task, e.Value) }

// Go runs task in a goroutine. Deferred calls of the task run after a panic, so
// the task must release its callers there.
func (t *Tasks) Go(name string, task func()) { go t.Func(name, task)() }

// Func returns task without its panics, for sync.WaitGroup.Go and timers.
func (t *Tasks) Func(name string, task func()) func() {
	return func() { _ = t.Try(name, func() error { task(); return nil }) }
}

// ErrFunc returns task with its panics as *PanicError, for errgroup.Group.Go.
func (t *Tasks) ErrFunc(name string, task func() error) func() error {
	return func() error { return t.Try(name, task) }
}

// Loop returns a function that runs loop until it returns. After a panic it runs
// loop again, after 1 s at first and at most 1 min, unless ctx has ended.
func (t *Tasks) Loop(ctx context.Context, name string, loop func(context.Context)) func() {
	return func() {
		for delay := minRestartDelay; ; delay = min(2*delay, maxRestartDelay) {
			start := time.Now()
			if t.Try(name, func() error { loop(ctx); return nil }) == nil {
				return
			}
			if time.Since(start) > maxRestartDelay {
				delay = minRestartDelay
			}
			timer := time.NewTimer(delay)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			}
		}
	}
}

// Try runs task and returns its error, or a *PanicError if it panics.
func (t *Tasks) Try(name string, task func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Task: name, Value: value}
			t.report(name, value, debug.Stack())
		}
	}()
	return task()
}

func (t *Tasks) report(name string, value any, stack []byte) {
	log := slog.Default()
	if t != nil {
		t.panics.Add(1)
		if t.log != nil {
			log = t.log
		}
	}
	log.Error("panic in background task", "task", name, "error", fmt.Sprint(value), "stack", string(stack))
}
