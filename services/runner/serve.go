//go:build linux || darwin

package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"mcpgateway/services/runner/access"
	"mcpgateway/services/runner/files"
	"mcpgateway/services/runner/keeper"
	"mcpgateway/services/runner/process"
	"mcpgateway/services/runner/state"
	"mcpgateway/services/runners/wire"
)

// Times of a runner.
const (
	callTime    = 20 * time.Second // for calls in flight at the end
	headerLimit = 10 * time.Second // of a request
	reapPause   = time.Second
)

// errEnded is the error when the keeper has ended without a request.
var errEnded = errors.New("the process that needs this runner has ended")

// Serve runs a runner in a process that keeper.Guard started. It returns after
// SIGTERM, or with an error when the keeper or the guard has ended, and leaves
// no program.
func Serve(ctx context.Context, o Options) error {
	keeper.SetName(keeper.RunnerName)
	if err := errors.Join(process.Adopt(), process.Hide()); err != nil {
		return err
	}
	guard := os.Getppid()
	requests := make(chan os.Signal, 4)
	signal.Notify(requests, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(requests)
	r := New(o)
	life, cancel := context.WithCancel(ctx)
	defer cancel()
	defer r.Kill()
	if n := r.Sweep(ctx); n > 0 {
		o.Log.Warn("processes of an earlier runner ended", "processes", n)
	}
	if _, err := r.Reload(life); err != nil {
		return err
	}
	if err := r.open(life); err != nil {
		return err
	}
	r.look(life)
	lost, err := r.lifeline(life)
	if err != nil {
		return err
	}
	return r.wait(life, guard, requests, lost)
}

// wait handles signals until the runner has to end. guard is the id of its parent.
func (r *Runner) wait(life context.Context, guard int, requests <-chan os.Signal, lost <-chan struct{}) error {
	var closed chan struct{}
	for {
		select {
		case <-lost:
			return errEnded
		case <-closed:
			return nil
		case s := <-requests:
			switch {
			case os.Getppid() != guard: // the kernel sent it: the guard has ended
				return errEnded
			case s == syscall.SIGHUP && closed == nil:
				_, _ = r.Reload(life) // logs what it did
			case s == syscall.SIGTERM && closed == nil:
				closed = make(chan struct{})
				r.o.Tasks.Go("end of the runner", func() {
					defer close(closed)
					closing, hurry := context.WithTimeout(context.WithoutCancel(life), r.callTime())
					defer hurry()
					r.Close(closing)
				})
			}
		}
	}
}

// callTime returns the maximum time for calls in flight at the end.
func (r *Runner) callTime() time.Duration {
	if r.o.Attached {
		return 0
	}
	return cmp.Or(r.o.CallTime, callTime)
}

// lifeline returns a channel that is closed when the other end of descriptor 3
// is. If a gateway is at the other end, it is served.
func (r *Runner) lifeline(life context.Context) (<-chan struct{}, error) {
	lost := make(chan struct{})
	if !r.o.Attached {
		r.o.Tasks.Go("wait for the keeper", func() {
			defer close(lost)
			keeper.WaitForHangUp()
		})
		return lost, nil
	}
	f := os.NewFile(keeper.Lifeline, "gateway")
	conn, err := net.FileConn(f)
	_ = f.Close()
	if err != nil {
		return nil, fmt.Errorf("descriptor 3: %w", err)
	}
	r.o.Tasks.Go("connection to the gateway", func() {
		defer close(lost)
		wire.Serve(life, conn, r.Handler(), r.o.Tasks)
	})
	return lost, nil
}

// open opens the control socket, and the address or the connections of the
// options.
func (r *Runner) open(life context.Context) error {
	socket, err := access.Control(state.Socket(r.o.State))
	if err != nil { // for example a path that is too long
		r.o.Log.Warn("the commands of `gateway runner` can't reach this runner", "error", err)
	} else {
		r.listen(life, socket, &http.Server{Handler: r.Control(life), ReadHeaderTimeout: headerLimit})
	}
	if r.o.Listen != "" {
		if err := r.openListen(life); err != nil {
			return err
		}
	}
	if r.o.Dialer != nil {
		r.o.Tasks.Go("connections to the gateway", r.o.Tasks.Loop(life, "connections to the gateway", func(ctx context.Context) {
			_ = r.o.Dialer.Run(ctx, r.Handler()) // the error of ctx
		}))
	}
	return nil
}

// openListen serves the address of --listen: HTTP/2 without TLS.
func (r *Runner) openListen(life context.Context) error {
	address, err := access.ParseAddress(r.o.Listen)
	if err != nil {
		return err
	}
	l, err := address.Listen(life)
	if err != nil {
		return err
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	r.listen(life, l, &http.Server{Handler: address.Protect(r.o.Token, r.Handler()), Protocols: protocols, ReadHeaderTimeout: headerLimit})
	r.o.Log.Info("runner listening", "address", l.Addr().String())
	return nil
}

// listen serves connections until ctx ends.
func (r *Runner) listen(ctx context.Context, l net.Listener, s *http.Server) {
	s.BaseContext = func(net.Listener) context.Context { return ctx }
	context.AfterFunc(ctx, r.o.Tasks.Func("end of a listener", func() { _ = s.Close() }))
	r.o.Tasks.Go("listener of the runner", func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			r.o.Log.Error("listener ended", "error", err)
		}
	})
}

// look watches the files and adopted processes until ctx ends.
func (r *Runner) look(ctx context.Context) {
	r.o.Tasks.Go("watch of the files", r.o.Tasks.Loop(ctx, "watch of the files", func(ctx context.Context) {
		ticks := time.NewTicker(files.WatchEvery)
		defer ticks.Stop()
		files.Watch(ctx, r.o.Paths, r.active.Files(), ticks.C, func() { r.reread(ctx) })
	}))
	r.o.Tasks.Go("traces of programs", r.o.Tasks.Loop(ctx, "traces of programs", r.trace))
	r.o.Tasks.Go("reaping", r.o.Tasks.Loop(ctx, "reaping", r.reap))
}

// reap takes the status of adopted processes when one has ended.
func (r *Runner) reap(ctx context.Context) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	for pause(ctx, reapPause) {
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
		r.starter.Reap()
	}
}

// Reload reads the files and applies everything. It logs what changed. After an
// error nothing changed. The context is that of the programs' life.
func (r *Runner) Reload(life context.Context) (files.Change, error) {
	c, err := r.Apply(life, true)
	if err != nil {
		r.o.Log.Error("files of local servers refused; nothing changed", "error", err)
		return c, err
	}
	r.note("local servers loaded", c)
	return c, nil
}

// reread applies changed files as far as they may be without a reload.
func (r *Runner) reread(life context.Context) {
	before := r.active.Files()
	c, err := r.Apply(life, r.o.Watch)
	switch {
	case err == nil && slices.Equal(before, r.active.Files()): // a reload has applied it
	case err != nil:
		r.o.Log.Error("changed file of local servers refused; nothing changed", "error", err)
	case r.o.Watch:
		r.note("changed file of local servers applied, with its commands (--watch)", c)
	default:
		r.note("changed file of local servers: removals and settings applied", c)
		if len(c.Held) > 0 {
			r.o.Log.Warn("changed commands wait for a reload", "servers", strings.Join(c.Held, ", "), "reload", "gateway runner reload")
		}
	}
}

// note logs what changed, by name.
func (r *Runner) note(message string, c files.Change) {
	var fields []any
	for _, f := range []struct {
		key   string
		names []string
	}{{"added", c.Added}, {"replaced", c.Replaced}, {"settings", c.Settings}, {"removed", c.Removed}} {
		if len(f.names) > 0 {
			fields = append(fields, f.key, strings.Join(f.names, ", "))
		}
	}
	for _, f := range r.active.Files() {
		fields = append(fields, "file", f.Path, "sha256", f.SHA256)
	}
	r.o.Log.Info(message, fields...)
}
