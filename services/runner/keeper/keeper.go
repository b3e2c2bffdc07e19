//go:build linux || darwin

package keeper

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mcpgateway/services/background"
	"mcpgateway/services/runner/process"
	"mcpgateway/services/runner/state"
)

// Options configure a Keeper.
type Options struct {
	Config
	// Guard is the command that calls Guard: a path and its arguments. The ID of
	// the runner and its directory are added.
	Guard   []string
	Environ []string  // of this process; the runner gets it without GATEWAY_*
	Stderr  io.Writer // receives the runner's log lines, one per call
	Log     *slog.Logger
	Tasks   *background.Tasks // may be nil
}

// Keeper starts the guard of a runner again whenever it ends. It is safe for
// concurrent use.
type Keeper struct {
	o      Options
	attach func(net.Conn)
	state  *state.Directory

	cancel context.CancelFunc
	ended  chan struct{}

	mu    sync.Mutex
	guard *os.Process // nil between guards
}

// Start starts the guard of a runner and keeps it running until ctx ends or Stop
// is called. From then on other processes of the user can't read the memory and
// the environment of this one. It calls attach in a new goroutine with the connection to each
// runner (package wire), which attach owns; with a nil attach there is none.
// The error is *state.InUse if another runner has the directory, or one of the
// operating system.
func Start(ctx context.Context, o Options, attach func(net.Conn)) (*Keeper, error) {
	if err := process.Hide(); err != nil { // programs run as the same user
		return nil, err
	}
	dir, err := state.Open(o.State)
	if err != nil {
		return nil, err
	}
	o.Runner, o.State, o.Attached = dir.Runner(), dir.Path(), attach != nil
	ctx, cancel := context.WithCancel(ctx)
	k := &Keeper{o: o, attach: attach, state: dir, cancel: cancel, ended: make(chan struct{})}
	first, err := k.start()
	if err != nil {
		cancel()
		_ = dir.Close()
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	o.Tasks.Go("keeper of the runner", func() {
		defer func() { _ = dir.Close(); close(k.ended) }()
		k.keep(ctx, first)
	})
	return k, nil
}

// Stop ends the runner: its programs get time to end. It returns when nothing
// is left.
func (k *Keeper) Stop() {
	k.cancel()
	<-k.ended
}

// Done is closed when the keeper has stopped.
func (k *Keeper) Done() <-chan struct{} { return k.ended }

// Reload requests that the runner reads its files and applies everything.
func (k *Keeper) Reload() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.guard != nil {
		_ = k.guard.Signal(syscall.SIGHUP)
	}
}

// keep waits for guards and starts the next ones.
func (k *Keeper) keep(ctx context.Context, g *guard) {
	for delay := minDelay; ; delay = min(2*delay, maxDelay) {
		began := time.Now()
		if g != nil {
			exit := g.wait(ctx)
			if ctx.Err() != nil {
				return
			}
			if time.Since(began) > maxDelay {
				delay = minDelay
			}
			k.o.Log.Warn("the runner of local servers ended", "exit", exit, "again_in", delay.String())
		}
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		next, err := k.start()
		if err != nil {
			k.o.Log.Error("the runner of local servers can't be started", "error", err)
		}
		g = next
	}
}

// guard is a running guard.
type guard struct {
	keeper *Keeper
	cmd    *exec.Cmd
	line   io.Closer     // the keeper's end of descriptor 3
	logged chan struct{} // closed when guard and runner have ended
	ended  chan struct{} // closed when also its status is known
	exit   string        // set when ended is closed
}

// start starts a guard with the other end of a new connection as descriptor 3.
func (k *Keeper) start() (*guard, error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	_ = ours.Close()
	if err != nil {
		return nil, err
	}
	g := &guard{keeper: k, line: conn, logged: make(chan struct{}), ended: make(chan struct{})}
	if err := g.start(theirs); err != nil {
		_ = conn.Close()
		return nil, err
	}
	k.set(g.cmd.Process)
	if k.attach != nil {
		k.o.Tasks.Go("connection to the runner", func() { k.attach(conn) })
	}
	return g, nil
}

func (k *Keeper) set(p *os.Process) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.guard = p
}

// start starts the process.
func (g *guard) start(descriptor3 *os.File) error {
	o := g.keeper.o
	config, err := json.Marshal(o.Config)
	if err != nil {
		return err
	}
	lines, stderr, err := os.Pipe()
	if err != nil {
		return err
	}
	defer stderr.Close()
	g.cmd = exec.CommandContext(context.Background(), o.Guard[0], append(slices.Clone(o.Guard[1:]), o.Runner, o.State)...)
	g.cmd.Args[0] = guardName
	g.cmd.Env, g.cmd.Stdin, g.cmd.Stderr = Environment(o.Environ), bytes.NewReader(config), stderr
	g.cmd.ExtraFiles = []*os.File{descriptor3}
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // signals of a terminal are for this process only
	if err := g.cmd.Start(); err != nil {
		_ = lines.Close()
		return err
	}
	o.Tasks.Go("log of the runner", func() {
		defer close(g.logged)
		defer lines.Close()
		copyLines(o.Stderr, lines)
	})
	o.Tasks.Go("wait for the guard", func() {
		defer close(g.ended)
		_ = g.cmd.Wait() // the state has its exit status
		g.exit = g.cmd.ProcessState.String()
		g.keeper.set(nil)
		_ = g.line.Close()
		within(g.logged, killLimit) // the runner ends with its guard
	})
	return nil
}

// wait returns the exit status of the guard after it and its runner have ended.
// When ctx ends, it ends them.
func (g *guard) wait(ctx context.Context) string {
	select {
	case <-g.ended:
		return g.exit
	case <-ctx.Done():
	}
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	if !within(g.ended, stopLimit) {
		_ = g.line.Close() // now the guard kills
		if !within(g.ended, killLimit) {
			_ = g.cmd.Process.Kill()
			<-g.ended
		}
	}
	return g.exit
}

// within reports whether a channel is closed within d.
func within(closed <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-closed:
		return true
	case <-timer.C:
		return false
	}
}

// pair returns two connected sockets.
func pair() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // no child may get them
	defer syscall.ForkLock.RUnlock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	return os.NewFile(uintptr(fds[0]), "runner"), os.NewFile(uintptr(fds[1]), "gateway"), nil
}

// Environment returns the variables for a runner: all but the gateway's own,
// which contain its keys.
func Environment(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(v, "GATEWAY_") })
}

// maxLogLine is the maximum size of a log line in bytes.
const maxLogLine = 64 << 10

// copyLines writes the lines of r one at a time, in parts of maxLogLine.
func copyLines(w io.Writer, r io.Reader) {
	lines := bufio.NewReaderSize(r, maxLogLine)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			if line[len(line)-1] != '\n' {
				line = append(slices.Clone(line), '\n')
			}
			_, _ = w.Write(line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
