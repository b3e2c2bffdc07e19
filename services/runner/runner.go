//go:build linux || darwin

// Package runner runs the programs of files for gateways. It is the only one that
// has their commands: no message from a gateway contains one.
package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"mcpgateway/services/background"
	"mcpgateway/services/runner/bridge"
	"mcpgateway/services/runner/containers"
	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/files"
	"mcpgateway/services/runner/keeper"
	"mcpgateway/services/runner/process"
	"mcpgateway/services/runner/supervise"
	"mcpgateway/services/runner/trusted"
	"mcpgateway/services/runners/wire"
)

// Options configure a Runner.
type Options struct {
	keeper.Config
	Launcher []string // the command that calls process.Launch: a path and arguments
	Environ  []string // of this process
	// Dialer connects to the gateway of Config.Connect. It may be nil without one.
	Dialer Dialer
	// CallTime is the maximum time for calls in flight at SIGTERM; 0 means 20 s. A
	// gateway that has started this runner ends its calls first: they get none.
	CallTime time.Duration
	Log      *slog.Logger
	Tasks    *background.Tasks
}

// Dialer connects to a gateway.
type Dialer interface {
	// Run passes the requests of the gateway to handler until ctx ends.
	Run(ctx context.Context, handler http.Handler) error
	// Notes returns what the gateway said about this runner, for its user.
	Notes() []string
}

// Runner runs the programs of its files. It is safe for concurrent use.
type Runner struct {
	o           Options
	environment entry.Environment
	starter     *process.Starter
	limits      *supervise.Limits
	changed     signals
	clients     containers.Clients

	applying sync.Mutex // one read of the files at a time
	active   *files.Active

	mu      sync.RWMutex
	members map[string]*member
	closed  bool // the members end; the list keeps them, because they stay in the files
}

// member is a program with what serves it.
type member struct {
	program *supervise.Program
	server  http.Handler // Streamable HTTP
	cancel  context.CancelFunc
}

// New returns a runner without programs. The caller must call Close.
func New(o Options) *Runner {
	return &Runner{
		o: o, environment: entry.NewEnvironment(o.Environ),
		starter: process.NewStarter(o.Tasks, o.Launcher...),
		limits:  supervise.NewLimits(supervise.LimitOptions{Processes: o.MaxProcesses, Tasks: o.Tasks}),
		clients: containers.NewClients(o.State),
		active:  files.NewActive(), members: map[string]*member{},
	}
}

// Sweep ends what an earlier runner with the same directory left, and returns
// the number of processes.
func (r *Runner) Sweep(ctx context.Context) int {
	n := r.sweepTraces() + process.Sweep(func(marker string) bool { return keeper.Owns(r.o.Runner, marker) })
	if err := RemoveContainers(ctx, r.o.State, r.o.Runner, r.o.Environ); err != nil {
		r.o.Log.Warn("containers of an earlier runner not removed", "error", err)
	}
	return n
}

// RemoveContainers removes the containers of the programs of a runner with a
// state directory. environ is for docker and podman.
func RemoveContainers(ctx context.Context, state, runner string, environ []string) error {
	return containers.NewClients(state).Remove(ctx, environ, supervise.LabelRunner+"="+runner)
}

// errTooMany is the error for files with more than wire.MaxServers programs.
var errTooMany = errors.New("too many programs")

// Apply reads the files. With reload everything applies; otherwise new and changed
// commands wait for a reload. After an error, nothing changed.
func (r *Runner) Apply(ctx context.Context, reload bool) (files.Change, error) {
	r.applying.Lock()
	defer r.applying.Unlock()
	set, err := files.Read(r.o.Paths, r.o.Format)
	if err != nil {
		return files.Change{}, err
	}
	if n := len(set.Programs); n > wire.MaxServers {
		return files.Change{}, fmt.Errorf("%w: %d in the files, at most %d", errTooMany, n, wire.MaxServers)
	}
	change := r.active.Apply(set, reload)
	for _, name := range change.Removed {
		r.remove(name)
	}
	for _, p := range change.Programs {
		r.put(ctx, p, reload)
	}
	r.changed.send()
	return change, nil
}

// put adds or updates a program.
func (r *Runner) put(ctx context.Context, p files.Program, reload bool) {
	name := p.Entry.Name
	if m, ok := r.find(name); ok {
		m.program.Update(p.Entry)
		m.program.SetHeld(p.Held)
		if reload {
			m.program.Retry()
		}
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	m := r.newMember(p, cancel)
	r.mu.Lock()
	r.members[name] = m
	r.mu.Unlock()
	m.program.Run(ctx)
}

// newMember returns a program that has not started. cancel ends its life.
func (r *Runner) newMember(p files.Program, cancel context.CancelFunc) *member {
	m := &member{cancel: cancel}
	server, open := bridge.ForProgram(func() *supervise.Program { return m.program }, r.o.Version, r.o.Tasks)
	m.server = server
	m.program = supervise.New(supervise.Options{
		Entry: p.Entry, Held: p.Held, Environment: r.environment, ReadFile: trusted.Content, Runner: r.o.Runner,
		Start: r.start(p.Entry.Name), Open: open, Limits: r.limits, Log: r.o.Log, Tasks: r.o.Tasks, Changed: r.changed.send,
	})
	return m
}

// remove ends a program in the background.
func (r *Runner) remove(name string) {
	r.mu.Lock()
	m, ok := r.members[name]
	delete(r.members, name)
	r.mu.Unlock()
	if ok {
		m.cancel()
		r.o.Tasks.Go("end of a removed program", func() { m.program.Close(context.Background()) })
	}
}

// find returns a program by name.
func (r *Runner) find(name string) (*member, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	m, ok := r.members[name]
	return m, ok && !r.closed
}

// Close waits for the calls in flight, but not longer than ctx, ends all programs
// and returns when nothing is left.
func (r *Runner) Close(ctx context.Context) {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	var ending sync.WaitGroup
	for _, m := range r.all() {
		m.cancel()
		ending.Go(r.o.Tasks.Func("end of a program", func() { m.program.Close(ctx) }))
	}
	ending.Wait()
	process.End(func(marker string) bool { return keeper.Owns(r.o.Runner, marker) })
	r.starter.Close()
}

// Kill ends all programs at once.
func (r *Runner) Kill() {
	r.starter.Close()
	process.End(func(marker string) bool { return keeper.Owns(r.o.Runner, marker) })
}
