package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	readyPrefix = "READY "
	tailLimit   = 256 << 10
	stopLimit   = 10 * time.Second
	pollEvery   = 50 * time.Millisecond
)

// tail stores the end of a process's output and detects its READY line.
type tail struct {
	mu    sync.Mutex
	kept  []byte
	line  []byte
	ready chan string
}

func newTail() *tail { return &tail{ready: make(chan string, 1)} }

// Write implements io.Writer.
func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, p...)
	if over := len(l.kept) - tailLimit; over > 0 {
		l.kept = append(l.kept[:0], l.kept[over:]...)
	}
	for rest := p; ; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		l.line = append(l.line, line[:min(len(line), tailLimit-min(len(l.line), tailLimit))]...)
		if !whole {
			return len(p), nil
		}
		if said, found := strings.CutPrefix(string(l.line), readyPrefix); found {
			select {
			case l.ready <- said:
			default:
			}
		}
		l.line, rest = l.line[:0], after
	}
}

// String returns the stored output.
func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.kept)
}

// process is a program started by the test.
type process struct {
	name  string
	cmd   *exec.Cmd
	log   *tail
	ended chan struct{}
	err   error // of Wait; read only after ended is closed
}

// program is a command line with its complete environment and directory.
type program struct {
	name string
	path string
	args []string
	dir  string
	env  []string
}

// startProcess starts p and stops it when the test ends, or shortly before the
// test binary's time limit. Its output is logged if the test fails.
func startProcess(t *testing.T, p program) *process {
	t.Helper()
	ctx, cancel := lifetime(t)
	started := &process{name: p.name, log: newTail(), ended: make(chan struct{})}
	started.cmd = exec.CommandContext(ctx, p.path, p.args...)
	started.cmd.Dir, started.cmd.Env = p.dir, p.env
	started.cmd.Stdout, started.cmd.Stderr = started.log, started.log
	started.cmd.WaitDelay = stopLimit
	if err := started.cmd.Start(); err != nil {
		cancel()
		t.Fatalf("start %s: %v", p.name, err)
	}
	go func() {
		defer cancel()
		started.err = started.cmd.Wait()
		close(started.ended)
	}()
	t.Cleanup(func() {
		started.stop(t)
		if t.Failed() {
			t.Logf("---- output of %s:\n%s", p.name, started.log)
		}
	})
	return started
}

// lifetime returns a context that outlives t.Context, so that cleanups can stop
// processes gracefully, but not the test binary's time limit.
func lifetime(t *testing.T) (context.Context, context.CancelFunc) {
	if deadline, limited := t.Deadline(); limited {
		return context.WithDeadline(context.Background(), deadline.Add(-stopLimit))
	}
	return context.WithCancel(context.Background())
}

// stop terminates the process and kills it if it doesn't exit. It does nothing
// if the process has exited.
func (p *process) stop(t *testing.T) {
	select {
	case <-p.ended:
		return
	default:
	}
	// It may exit before the signal; the wait below detects that.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if p.waitEnd(stopLimit) {
		return
	}
	t.Errorf("%s killed: still running %v after SIGTERM", p.name, stopLimit)
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// waitEnd reports whether the process exited within limit.
func (p *process) waitEnd(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.ended:
		return true
	case <-timer.C:
		return false
	}
}

// awaitReady returns the rest of the READY line of the process.
func (p *process) awaitReady(t *testing.T, limit time.Duration) string {
	t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case said := <-p.log.ready:
		return said
	case <-p.ended:
		t.Fatalf("%s exited before it was ready: %v", p.name, p.err)
	case <-timer.C:
		t.Fatalf("%s not ready after %v", p.name, limit)
	}
	return ""
}

// eventually repeats attempt until it returns nil. It fails the test after
// limit, or if a process it depends on has exited.
func eventually(t *testing.T, limit time.Duration, what string, attempt func(ctx context.Context) error, needs ...*process) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	var last error
	for {
		err := attempt(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		for _, p := range needs {
			select {
			case <-p.ended:
				t.Fatalf("%s: %s exited: %v", what, p.name, p.err)
			default:
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: timed out after %v: %v", what, limit, last)
		case <-ticker.C:
		}
	}
}

// outcome is the result of a program that runs to completion.
type outcome struct {
	stdout, stderr string
	status         int
}

// run runs p to completion, for at most limit.
func run(t *testing.T, p program, limit time.Duration) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.path, p.args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.dir, p.env, stopLimit
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Fatalf("%s still running after %v\n%s", p.name, limit, stderr.String())
	case err != nil && !errors.As(err, &exit):
		t.Fatalf("%s: %v", p.name, err)
	}
	return outcome{stdout: stdout.String(), stderr: stderr.String(), status: cmd.ProcessState.ExitCode()}
}

// mustRun runs p to completion and returns its standard output. The test fails
// if p fails.
func mustRun(t *testing.T, p program, limit time.Duration) string {
	t.Helper()
	done := run(t, p, limit)
	if done.status != 0 {
		t.Fatalf("exit status of %s = %d:\n%s%s", p.name, done.status, done.stdout, done.stderr)
	}
	return done.stdout
}

// freeAddress returns a loopback address with a port that was free during the call.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// accepts returns nil if a server listens on address.
func accepts(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// bareEnvironment returns the variables that any program needs, without those
// of the product, so that the developer's settings don't affect tests.
func bareEnvironment(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "LANG=C.UTF-8"}
}

func TestTail(t *testing.T) {
	cases := []struct {
		name   string
		writes []string
		ready  string
	}{
		{"at once", []string{"READY here\n"}, "here"},
		{"in pieces", []string{"a\nREA", "DY he", "re\nb"}, "here"},
		{"the first of two", []string{"READY one\nREADY two\n"}, "one"},
		{"not within a line", []string{"not READY here\n"}, ""},
		{"not without its end", []string{"READY here"}, ""},
		{"after much", []string{strings.Repeat("x", tailLimit) + "\n", "READY here\n"}, "here"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			log := newTail()
			for _, w := range c.writes {
				if n, err := fmt.Fprint(log, w); n != len(w) || err != nil {
					t.Fatalf("wrote %d of %d bytes: %v", n, len(w), err)
				}
			}
			got := ""
			select {
			case got = <-log.ready:
			default:
			}
			if got != c.ready {
				t.Errorf("ready line = %q, want %q", got, c.ready)
			}
			all := strings.Join(c.writes, "")
			if want := all[max(0, len(all)-tailLimit):]; log.String() != want {
				t.Errorf("stored %d bytes, want the last %d written bytes", len(log.String()), len(want))
			}
		})
	}
}
