package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// stopLimit is the time between SIGTERM and SIGKILL.
const stopLimit = 25 * time.Second

// Program describes a program to run.
type Program struct {
	Name  string // for messages
	Path  string
	Args  []string
	Dir   string
	Env   []string  // complete environment
	Stdin io.Reader // may be nil
	// Stderr receives standard error directly, so that this process doesn't read
	// it. If nil, standard error is part of the output.
	Stderr *os.File
	// Ready reports whether a line of output is the ready line, and returns the
	// value in it. It may be nil.
	Ready func(line string) (string, bool)
}

// Process is a started program.
type Process struct {
	name   string
	cmd    *exec.Cmd
	output *output
	ended  chan struct{} // closed when cmd.Wait has returned
}

// command returns the command of p. When ctx is done, it receives SIGTERM, and
// SIGKILL after stopLimit.
func (p *Program) command(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.Dir, cmd.Env, cmd.Stdin = p.Dir, p.Env, p.Stdin
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopLimit
	return cmd
}

// Start starts p, which runs until ctx is done or Stop is called.
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
		_ = started.cmd.Wait() // ProcessState has the outcome
	}()
	return started, nil
}

// Await waits for the ready line and returns its value. It returns an error with
// the program's output if the program exits or prints no ready line within limit.
func (p *Process) Await(ctx context.Context, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case value := <-p.output.ready:
		return value, nil
	case <-p.ended:
		return "", p.failure()
	case <-ctx.Done():
		return "", fmt.Errorf("%s: not ready within %v; output:\n%s", p.name, limit, p.output)
	}
}

// PID returns the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop sends SIGTERM, and SIGKILL after stopLimit, and waits for the program's
// exit.
func (p *Process) Stop() {
	select {
	case <-p.ended:
		return
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // ignore the error of a program that has just exited
	timer := time.NewTimer(stopLimit)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// failure returns the error for a program that exited unexpectedly.
func (p *Process) failure() error {
	return fmt.Errorf("%s: exited unexpectedly (%s); output:\n%s", p.name, p.cmd.ProcessState, p.output)
}

// Outcome is the output and the exit status of a program.
type Outcome struct {
	Stdout, Stderr string
	Status         int
}

// Run runs p for at most limit. An exit status other than 0 is not an error.
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
		return done, fmt.Errorf("%s: %w (limit %v)", p.Name, ctx.Err(), limit)
	case err != nil && !errors.As(err, &exit):
		return done, fmt.Errorf("run %s: %w", p.Name, err)
	}
	return done, nil
}

// Must runs p and returns its standard output. An exit status other than 0 is an
// error that contains the output.
func Must(ctx context.Context, p Program, limit time.Duration) (string, error) {
	done, err := Run(ctx, p, limit)
	if err == nil && done.Status != 0 {
		err = fmt.Errorf("%s: exit status %d:\n%s%s", p.Name, done.Status, done.Stdout, done.Stderr)
	}
	return done.Stdout, err
}

// BareEnvironment returns a minimal environment, with HOME and TMPDIR set to
// folder. Of the caller's variables, only PATH is inherited.
func BareEnvironment(folder string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "TMPDIR=" + folder, "LANG=C.UTF-8"}
}
