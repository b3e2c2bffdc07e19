//go:build linux || darwin

package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpgateway/services/background"
	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/process"
	"mcpgateway/services/runner/supervise"
	"mcpgateway/services/runners/wire"
)

func TestMain(m *testing.M) {
	if err := process.Adopt(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// Scripts of programs.
const (
	serving = `n=0; while read -r line; do n=$((n+1)); echo '{"jsonrpc":"2.0","id":'$n',"result":{}}'; done`
	silent  = `cat >/dev/null`
	crashes = `echo "no license" >&2; exit 1`
	// slow writes to standard error and serves.
	slow = `echo "installing 3 of 9" >&2; ` + serving
)

// clock is a Clock whose time is advanced by tests.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*timer
}

type timer struct {
	at time.Time
	f  func()
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) After(d time.Duration, _ string, f func()) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := &timer{c.now.Add(d), f}
	c.timers = append(c.timers, one)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.timers = slices.DeleteFunc(c.timers, func(t *timer) bool { return t == one })
	}
}

// advance runs the functions that are due, in order. Concurrent calls never set the
// time back.
func (c *clock) advance(d time.Duration) {
	end := c.Now().Add(d)
	for {
		c.mu.Lock()
		slices.SortStableFunc(c.timers, func(a, b *timer) int { return a.at.Compare(b.at) })
		if len(c.timers) == 0 || c.timers[0].at.After(end) {
			c.now = later(c.now, end)
			c.mu.Unlock()
			return
		}
		due := c.timers[0]
		c.timers = c.timers[1:]
		c.now = later(c.now, due.at)
		c.mu.Unlock()
		due.f()
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

var worlds atomic.Int64

// world is a runner with programs.
type world struct {
	*clock
	t       *testing.T
	starter *process.Starter
	limits  *supervise.Limits
	tasks   *background.Tasks
	env     entry.Environment
	runner  string
	changed chan struct{}
}

func newWorld(t *testing.T, processes int) *world {
	t.Helper()
	w := &world{
		clock: &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, t: t, tasks: background.New(slog.Default()),
		env: entry.NewEnvironment([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}), changed: make(chan struct{}, 1),
		runner: fmt.Sprintf("%s-%d", t.Name(), worlds.Add(1)), // markers must differ
	}
	// The launcher of the product is tested in package process.
	w.starter = process.NewStarter(w.tasks, "/bin/sh", "-c", `shift; exec "$@"`, "launch")
	w.limits = supervise.NewLimits(supervise.LimitOptions{Processes: processes, Clock: w.clock, Random: func() float64 { return 0.5 }, Tasks: w.tasks})
	t.Cleanup(func() {
		w.starter.Close()
		if n := w.tasks.Panics(); n > 0 {
			t.Errorf("%d panics", n)
		}
	})
	return w
}

// script returns the entry of a script.
func script(name, text string, set ...func(*entry.Entry)) *entry.Entry {
	e := &entry.Entry{
		Name: name, Command: entry.Command{Program: "sh", Args: []string{"-c", text}},
		Settings: entry.Settings{Start: entry.Lazy, IdleTimeout: 10 * time.Minute, StartTimeout: 2 * time.Minute, MaxProcesses: 4},
	}
	for _, one := range set {
		one(e)
	}
	return e
}

func idleAfter(d time.Duration) func(*entry.Entry) {
	return func(e *entry.Entry) { e.IdleTimeout = d }
}

func eager(e *entry.Entry) { e.Start = entry.Eager }

// handshake is an Open that waits for a response.
func handshake(ctx context.Context, p *supervise.Process, _ string) error {
	p.SetPeer(supervise.Peer{})
	_, err := p.Conn().Call(ctx, "initialize", []byte(`{}`), nil)
	return err
}

func (w *world) program(e *entry.Entry, set ...func(*supervise.Options)) *supervise.Program {
	w.t.Helper()
	o := supervise.Options{
		Entry: e, Environment: w.env, ReadFile: os.ReadFile, Runner: w.runner, Start: w.starter.Start, Open: handshake, Limits: w.limits,
		Log: slog.New(slog.DiscardHandler), Tasks: w.tasks, Changed: func() {
			select {
			case w.changed <- struct{}{}:
			default:
			}
		},
	}
	for _, one := range set {
		one(&o)
	}
	p := supervise.New(o)
	w.t.Cleanup(func() { p.Close(done()) })
	return p
}

// done returns a context that has ended.
func done() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// waitTime is the maximum time for what real processes do.
const waitTime = 60 * time.Second

// until waits until a condition is true. The poll is for changes that are not
// reported: lines of logs.
func (w *world) until(what string, condition func() bool) {
	w.t.Helper()
	deadline := time.After(waitTime)
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for !condition() {
		select {
		case <-w.changed:
		case <-poll.C:
		case <-deadline:
			w.t.Fatalf("timeout: %s", what)
		}
	}
}

func (w *world) untilState(p *supervise.Program, state wire.State) wire.Server {
	w.t.Helper()
	w.until(string(state), func() bool { return p.Record().State == state })
	return p.Record()
}

// untilProcesses waits until a program has a number of processes.
func (w *world) untilProcesses(p *supervise.Program, n int) {
	w.t.Helper()
	w.until(fmt.Sprintf("%d processes", n), func() bool { return p.Record().Processes == n })
}

func (w *world) acquire(p *supervise.Program, key string) *supervise.Process {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), waitTime)
	defer cancel()
	one, err := p.Acquire(ctx, key)
	if err != nil {
		w.t.Fatalf("acquire %q: %v", key, err)
	}
	return one
}

// refused checks that a call fails, with a text.
func (w *world) refused(p *supervise.Program, key, want string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), waitTime)
	defer cancel()
	_, err := p.Acquire(ctx, key)
	var unavailable *supervise.Unavailable
	if !errors.As(err, &unavailable) || err.Error() != want {
		w.t.Errorf("acquire %q: %v, want %s", key, err, want)
	}
}

func (w *world) call(one *supervise.Process) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), waitTime)
	defer cancel()
	if _, err := one.Conn().Call(ctx, "tools/call", []byte(`{}`), nil); err != nil {
		w.t.Errorf("call: %v", err)
	}
}

func wantMessage(t *testing.T, p *supervise.Program, state wire.State, want string) {
	t.Helper()
	if r := p.Record(); r.State != state || r.Message != want {
		t.Errorf("state %s, message %q, want %s, %q", r.State, r.Message, state, want)
	}
}

func hasLine(p *supervise.Program, text string) func() bool {
	return func() bool {
		return slices.ContainsFunc(p.Log().Lines, func(l wire.Line) bool { return strings.Contains(l.Text, text) })
	}
}
