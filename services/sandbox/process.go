package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"mcpgateway/services/background"
)

// Child is a process that runs one piece of code.
type Child struct {
	command *exec.Cmd
	in      io.WriteCloser
	writing sync.Mutex

	frames  chan Frame    // closed when the child's output ends
	dropped chan struct{} // closed when frames has no reader left
	ending  sync.Mutex
	ended   bool          // killed, or about to be waited for
	gone    chan struct{} // closed after the process was waited for
	trouble stderrBuffer
	state   *os.ProcessState // set before gone is closed
	ready   readyMessage
}

// Frame is one message of a child: its kind and its JSON body.
type Frame struct {
	Kind byte
	Body []byte
}

// stderrBuffer stores the beginning of a child's standard error.
type stderrBuffer struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer. It discards what exceeds the limit.
func (t *stderrBuffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[:min(len(p), maxStderr-len(t.text))]...)
	return len(p), nil
}

// String returns the stored text.
func (t *stderrBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// spawn starts a child and returns before it is ready. It must run on a thread
// that outlives the child: the kernel kills the child when that thread exits.
func spawn(command []string, tasks *background.Tasks) (*Child, error) {
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		command = []string{self, WorkerCommand}
	}
	c := &Child{frames: make(chan Frame), dropped: make(chan struct{}), gone: make(chan struct{})}
	c.command = exec.Command(command[0], command[1:]...)
	c.command.Env = []string{}
	c.command.Dir = "/"
	c.command.Stderr = &c.trouble
	c.command.WaitDelay = time.Second
	c.command.SysProcAttr = childAttributes()
	in, err := c.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	c.in = in
	tasks.Go("output of a code process", func() { c.read(out) })
	return c, nil
}

// read forwards the child's frames until its output ends, then waits for the
// process.
func (c *Child) read(out io.Reader) {
	defer func() {
		close(c.frames)
		c.end()
		// The state has the exit status; the error adds nothing.
		_ = c.command.Wait()
		c.state = c.command.ProcessState
		close(c.gone)
	}()
	frames := bufio.NewReaderSize(out, 16<<10)
	for {
		kind, body, err := readFrame(frames)
		if err != nil {
			return
		}
		select {
		case c.frames <- Frame{kind, body}:
		case <-c.dropped:
			return
		}
	}
}

// awaitReady returns nil once the child is ready for a run.
func (c *Child) awaitReady() error {
	limit := time.NewTimer(startTimeout)
	defer limit.Stop()
	select {
	case f, open := <-c.frames:
		if open && f.Kind == frameReady {
			return json.Unmarshal(f.Body, &c.ready)
		}
	case <-limit.C:
	}
	c.end()
	return fmt.Errorf("worker process failed to start: %s", strings.TrimSpace(c.trouble.String()))
}

// Frames returns the channel of the child's messages. It is closed when the
// child's output ends.
func (c *Child) Frames() <-chan Frame { return c.frames }

// Confined returns the measures that confine the child.
func (c *Child) Confined() []string { return c.ready.Confined }

// Start starts the run. It returns no error for a child that has exited: its
// frames channel is closed.
func (c *Child) Start(m StartMessage) error {
	start, err := Encode(m)
	if err != nil {
		return err
	}
	_ = c.send(frameStart, start)
	return nil
}

// Reply sends the reply to a call. It does nothing if the child has exited.
func (c *Child) Reply(id uint32, status byte, data []byte) {
	_ = c.send(frameAnswer, answerFrame(id, status, data))
}

// CPUMillis returns the processor time of the run in a child that is ending. It
// waits for the exit at most wait; known is false if the child hasn't exited by
// then.
func (c *Child) CPUMillis(wait time.Duration) (ms int64, known bool) {
	select {
	case <-c.gone:
		return max(0, c.cpu().Milliseconds()-c.ready.CPUMillis), true
	case <-time.After(wait):
		return 0, false
	}
}

// cpu returns the processor time of a child that has exited.
func (c *Child) cpu() time.Duration { return c.state.SystemTime() + c.state.UserTime() }

// send writes one frame. It blocks while the child is busy and returns an error
// once the child has exited.
func (c *Child) send(kind byte, body []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return writeFrame(c.in, kind, body)
}

// end kills the child's process group and returns immediately; gone is closed
// once the child was waited for. It sends the signal only once and only before
// that wait: afterwards the PID may belong to another process.
func (c *Child) end() {
	c.ending.Lock()
	defer c.ending.Unlock()
	if !c.ended {
		c.ended = true
		close(c.dropped)
		killGroup(c.command.Process)
	}
}

// alive reports whether the process is running.
func (c *Child) alive() bool {
	select {
	case <-c.gone:
		return false
	default:
		return true
	}
}

// ExitError returns the run error for a child that exited without reporting an
// outcome.
func (c *Child) ExitError(log *slog.Logger) *RunError {
	<-c.gone
	said := c.trouble.String()
	switch {
	// The race detector has its own messages for a failed allocation.
	case strings.Contains(said, "out of memory") || strings.Contains(said, "cannot allocate memory") || strings.Contains(said, "stack exceeds"), strings.Contains(said, "ThreadSanitizer"):
		return &RunError{Phase: PhaseMemory, Name: "MemoryError", Message: "The code exceeded its memory limit. Process less data in one run."}
	case killed(c.state) && c.cpu() >= MaxCPU:
		return &RunError{Phase: PhaseTimeout, Name: "TimeoutError", Message: "The code exceeded its processor time limit. Process less data in one run."}
	case killed(c.state):
		return &RunError{Phase: PhaseMemory, Name: "MemoryError", Message: "The process that ran the code was killed, most likely because it used too much memory."}
	default:
		log.Warn("worker exited unexpectedly", "state", c.state.String(), "said", said, "error", errors.New("no report"))
		return &RunError{Phase: PhaseRuntime, Name: "Error", Message: "The process that ran the code exited unexpectedly. Run the code again."}
	}
}
