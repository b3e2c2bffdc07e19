//go:build linux || darwin

package process

import (
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// Process is a running program.
type Process struct {
	pid    int
	marker string

	stdin, stdout, stderr *os.File
	done                  chan struct{}
	state                 *os.ProcessState // set when done is closed
	closing               sync.Once
}

// Stdin is the standard input of the program.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout is the standard output of the program. It ends after the program and
// everything that it started.
func (p *Process) Stdout() io.Reader { return p.stdout }

// Stderr is the standard error of the program.
func (p *Process) Stderr() io.Reader { return p.stderr }

// PID is the process id of the program.
func (p *Process) PID() int { return p.pid }

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit returns the exit status of the program, for example "exit code 1". It must be
// called only after Done is closed.
func (p *Process) Exit() string {
	status, ok := p.state.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled():
		return "signal: " + status.Signal().String()
	default:
		return fmt.Sprintf("exit code %d", p.state.ExitCode())
	}
}

// Failed reports whether the program ended with an error or by a signal.
func (p *Process) Failed() bool { return !p.state.Success() }

func (p *Process) closePipes() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			_ = f.Close()
		}
	}
}
