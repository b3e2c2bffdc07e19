package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// stopLimit is how long a program may take to end after SIGTERM.
const stopLimit = 25 * time.Second

// Program says what to start: the complete environment included.
type Program struct {
	Name string // for messages
	Path string
	Args []string
	Dir  string
	Env  []string
	// Stderr receives standard error without being read here, where reading
	// would disturb; nil keeps it with the rest of the output.
	Stderr *os.File
	// Ready finds in a line of output that the program can be used, and
	// what it says about itself there. It may be nil.
	Ready func(line string) (string, bool)
}

// Process is a program that runs.
type Process struct {
	name   string
	cmd    *exec.Cmd
	output *output
	ended  chan struct{} // closed when cmd has been waited for
}

// command returns p's command, which gets SIGTERM when ctx ends and is killed
// when it stays.
func (p *Program) command(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.Dir, cmd.Env = p.Dir, p.Env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopLimit
	return cmd
}

// Start starts p, which ends with ctx or with Stop. The error says that it
// cannot be started.
func Start(ctx context.Context, p Program) (*Process, error) {
	started := &Process{name: p.Name, cmd: p.command(ctx), output: newOutput(p.Ready), ended: make(chan struct{})}
	started.cmd.Stdout, started.cmd.Stderr = started.output, started.output
	if p.Stderr != nil {
		started.cmd.Stderr = p.Stderr
	}
	if err := started.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Name, err)
	}
	go func() {
		defer close(started.ended)
		_ = started.cmd.Wait() // the process's state tells how it ended
	}()
	return started, nil
}

// Await returns what the program's ready line says. The error tells why there
// was none within limit, with the program's output.
func (p *Process) Await(ctx context.Context, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case said := <-p.output.ready:
		return said, nil
	case <-p.ended:
		return "", p.failure()
	case <-ctx.Done():
		return "", fmt.Errorf("%s was not ready within %v; it printed:\n%s", p.name, limit, p.output)
	}
}

// PID returns the number of the program's process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop asks the program to end, kills it when it does not, and returns when it
// has ended.
func (p *Process) Stop() {
	select {
	case <-p.ended:
		return
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended meanwhile, which the wait tells
	timer := time.NewTimer(stopLimit)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// failure is the error for a program that ended by itself.
func (p *Process) failure() error {
	return fmt.Errorf("%s ended by itself (%s); it printed:\n%s", p.name, p.cmd.ProcessState, p.output)
}

// Outcome is how a program that ran to its end ended.
type Outcome struct {
	Stdout, Stderr string
	Status         int
}

// Run runs p to its end, at most limit long. A status other than 0 is no
// error.
func Run(ctx context.Context, p Program, limit time.Duration) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := p.command(ctx)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	done := Outcome{Stdout: stdout.String(), Stderr: stderr.String()}
	if cmd.ProcessState != nil {
		done.Status = cmd.ProcessState.ExitCode()
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return done, fmt.Errorf("%s: %w after at most %v", p.Name, ctx.Err(), limit)
	case err != nil && !errors.As(err, &exit):
		return done, fmt.Errorf("run %s: %w", p.Name, err)
	}
	return done, nil
}

// Must runs p to its end and returns its standard output. A status other than
// 0 is an error with what it printed.
func Must(ctx context.Context, p Program, limit time.Duration) (string, error) {
	done, err := Run(ctx, p, limit)
	if err == nil && done.Status != 0 {
		err = fmt.Errorf("%s ended with status %d:\n%s%s", p.Name, done.Status, done.Stdout, done.Stderr)
	}
	return done.Stdout, err
}

// BareEnvironment returns what any program needs and nothing of the person's
// who runs it, with the home and temporary files in folder.
func BareEnvironment(folder string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "TMPDIR=" + folder, "LANG=C.UTF-8"}
}
