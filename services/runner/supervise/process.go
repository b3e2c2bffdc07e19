//go:build linux || darwin

package supervise

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"mcpgateway/services/redact"
	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/process"
	"mcpgateway/services/runner/stdio"
)

// Peer receives the messages of a process. Its functions are called in order and
// must not block. Messages before SetPeer wait for it.
type Peer struct {
	Notify func(method string, params []byte)
	Serve  func(id []byte, method string, params []byte)
}

// Process is a process of a program. It is safe for concurrent use.
type Process struct {
	run     *run
	spec    process.Spec
	child   *process.Process
	conn    *stdio.Conn
	secrets *redact.Values

	peer     Peer
	received sync.Once
	receives chan struct{} // closed when peer is final

	printed  sync.Once
	output   chan struct{} // closed at the first output
	lastLine atomic.Pointer[string]
	logged   chan struct{} // closed at the end of standard error

	finished sync.Once
	done     chan struct{}
	exit     string // set when done is closed
}

// newProcess returns the process of a child.
func (r *run) newProcess(child *process.Process, spec process.Spec) *Process {
	o := &r.program.o
	one := &Process{
		run: r, spec: spec, child: child, secrets: redact.NewValues(r.entry.Secrets(o.Environment, spec.Program)...),
		receives: make(chan struct{}), output: make(chan struct{}), logged: make(chan struct{}), done: make(chan struct{}),
	}
	o.Tasks.Go("program log", func() {
		defer close(one.logged)
		readLog(&noticed{child.Stderr(), one}, one.logError)
	})
	one.conn = stdio.NewConn(stdio.Options{
		In: child.Stdin(), Out: &noticed{child.Stdout(), one}, Notify: one.notify, Serve: one.serve, Stray: one.logStray, Tasks: o.Tasks,
	})
	return one
}

// noticed reads the output of a process.
type noticed struct {
	io.Reader
	process *Process
}

func (n *noticed) Read(b []byte) (int, error) {
	count, err := n.Reader.Read(b)
	if count > 0 {
		n.process.printed.Do(func() { close(n.process.output) })
	}
	return count, err
}

// Program returns the program of the process.
func (p *Process) Program() *Program { return p.run.program }

// Hash returns the hash of the command that the process runs.
func (p *Process) Hash() string { return p.run.hash }

// Key returns the key by which callers share the process.
func (p *Process) Key() string {
	p.run.program.mu.Lock()
	defer p.run.program.mu.Unlock()
	return p.run.key
}

// Assign replaces the key. Callers of Acquire with the new key share the process
// from then on.
func (p *Process) Assign(key string) {
	p.run.program.mu.Lock()
	defer p.run.program.mu.Unlock()
	p.run.key = key
}

// Conn returns the connection with the process.
func (p *Process) Conn() *stdio.Conn { return p.conn }

// SetPeer sets the receiver of the process's messages. Options.Open must call it
// first. Without it notifications are dropped and requests refused.
func (p *Process) SetPeer(peer Peer) {
	p.received.Do(func() {
		p.peer = peer
		close(p.receives)
	})
}

func (p *Process) notify(method string, params []byte) {
	if <-p.receives; p.peer.Notify != nil {
		p.peer.Notify(method, params)
	}
}

func (p *Process) serve(id []byte, method string, params []byte) {
	if <-p.receives; p.peer.Serve != nil {
		p.peer.Serve(id, method, params)
		return
	}
	_ = p.conn.Respond(id, stdio.Response{RPCError: []byte(`{"code":-32601,"message":"Method not found"}`)}) // it may have ended
}

// Output is closed at the first output of the process, on standard output or
// standard error.
func (p *Process) Output() <-chan struct{} { return p.output }

// Release ends the use of the process by a caller of Acquire. Each caller must
// call it once.
func (p *Process) Release() { p.run.program.release(p.run) }

// End ends the process because it is not needed any more. It is not a crash. It
// returns at once.
func (p *Process) End() {
	p.run.program.change(func() { p.run.end(errReplaced) })
}

// Done is closed when the process has ended. Calls at it can fail before that.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit returns why the process ended, for example "exit code 1". It must be called
// only after Done is closed.
func (p *Process) Exit() string { return p.exit }

// finish closes done.
func (p *Process) finish(exit string) {
	p.finished.Do(func() {
		p.exit = exit
		close(p.done)
	})
}

// drainTime is the maximum time for reading the last output of a program that has
// ended. Processes that it left can keep its output open.
const drainTime = time.Second

// drain waits until the program has ended and its output was read.
func (p *Process) drain() {
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	for _, done := range []<-chan struct{}{p.child.Done(), p.conn.Done(), p.logged} {
		select {
		case <-done:
		case <-timer.C:
			return
		}
	}
}

// reason returns why a process ended unexpectedly, or must end because of err, which
// may be nil.
func (p *Process) reason(err error) string {
	if isClosed(p.conn.Done()) || isClosed(p.child.Done()) {
		p.drain()
	}
	switch {
	case isClosed(p.conn.Done()) && !errors.Is(p.conn.Err(), stdio.ErrEnded):
		return p.conn.Err().Error()
	case isClosed(p.child.Done()):
		return p.child.Exit()
	case err != nil && !errors.Is(err, stdio.ErrEnded):
		return cleaned([]byte(err.Error()), p.secrets, maxShown)
	}
	return "the program closed its output"
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// specification returns the process to start for an entry. The error is that of
// the entry.
func (p *Program) specification(e *entry.Entry) (process.Spec, error) {
	if e.Problem != "" {
		return process.Spec{}, errors.New(e.Problem)
	}
	program, err := e.Resolve(p.o.Environment, p.o.ReadFile)
	if err != nil {
		return process.Spec{}, err
	}
	marker := p.o.Limits.marker(p.o.Runner)
	program.Args = withLabels(program, p.o.Runner, marker)
	return process.Spec{Program: program, Memory: e.Memory, Files: e.Files, Marker: marker}, nil
}
