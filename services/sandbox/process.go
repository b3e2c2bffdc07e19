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

// Child is one process that runs one piece of code.
type Child struct {
	command *exec.Cmd
	in      io.WriteCloser
	writing sync.Mutex

	frames  chan Frame    // closed when the child's output ends
	dropped chan struct{} // closed when nobody reads frames any more
	ending  sync.Mutex
	ended   bool          // killed, or about to be waited for
	gone    chan struct{} // closed when the process was waited for
	trouble trouble
	state   *os.ProcessState // once gone
	ready   readyMessage
}

// Frame is one message of a child: its kind and its body, JSON.
type Frame struct {
	Kind byte
	Body []byte
}

// trouble keeps the beginning of a child's standard error.
type trouble struct {
	mu   sync.Mutex
	text []byte
}

// Write keeps what fits and takes the rest.
func (t *trouble) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[:min(len(p), maxTrouble-len(t.text))]...)
	return len(p), nil
}

// String returns what was kept.
func (t *trouble) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// spawn starts a child and returns before it is ready. It must run on a
// thread that outlives the child: the kernel ends the child with it.
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

// read hands the child's frames over until its output ends, and then sees the
// process off.
func (c *Child) read(out io.Reader) {
	defer func() {
		close(c.frames)
		c.end()
		// How it ended is in the state; a child that was killed is no error.
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

// awaitReady returns nil once the child can take a run.
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
	return fmt.Errorf("the child process that runs code did not start: %s", strings.TrimSpace(c.trouble.String()))
}

// Frames returns the channel of what the child sends, which is closed when its
// output ends.
func (c *Child) Frames() <-chan Frame { return c.frames }

// Confined returns how the child confined itself.
func (c *Child) Confined() []string { return c.ready.Confined }

// Start begins the run. A child that died while it waited is no error: it shows
// as the end of its frames.
func (c *Child) Start(m StartMessage) error {
	start, err := Encode(m)
	if err != nil {
		return err
	}
	_ = c.send(frameStart, start)
	return nil
}

// Answer sends the answer to a call, which a child that has ended needs no
// more.
func (c *Child) Answer(id uint32, status byte, data []byte) {
	_ = c.send(frameAnswer, answerFrame(id, status, data))
}

// CPUMillis returns the processor time that the run took in a child that has
// ended. It waits for the end; known is false when that does not come in time.
func (c *Child) CPUMillis(wait time.Duration) (ms int64, known bool) {
	select {
	case <-c.gone:
		return max(0, c.cpu().Milliseconds()-c.ready.CPUMillis), true
	case <-time.After(wait):
		return 0, false
	}
}

// cpu returns the processor time of a child that is gone.
func (c *Child) cpu() time.Duration { return c.state.SystemTime() + c.state.UserTime() }

// send writes one frame; it blocks while the child is busy and returns an
// error when it has ended.
func (c *Child) send(kind byte, body []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return writeFrame(c.in, kind, body)
}

// end kills the child and everything in its process group and returns at
// once. gone closes when it was waited for. It kills once only, before
// anybody waits: afterwards the number may be another process's.
func (c *Child) end() {
	c.ending.Lock()
	defer c.ending.Unlock()
	if !c.ended {
		c.ended = true
		close(c.dropped)
		killGroup(c.command.Process)
	}
}

// alive reports whether the process has not ended by itself.
func (c *Child) alive() bool {
	select {
	case <-c.gone:
		return false
	default:
		return true
	}
}

// ExitError explains the end of a child that did not report it.
func (c *Child) ExitError(log *slog.Logger) *RunError {
	<-c.gone
	said := c.trouble.String()
	switch {
	// The race detector has words of its own for memory that it cannot get.
	case strings.Contains(said, "out of memory") || strings.Contains(said, "cannot allocate memory") || strings.Contains(said, "stack exceeds"), strings.Contains(said, "ThreadSanitizer"):
		return &RunError{Phase: PhaseMemory, Name: "MemoryError", Message: "the code needed more memory than it may"}
	case killed(c.state) && c.cpu() >= MaxCPU:
		return &RunError{Phase: PhaseTimeout, Name: "TimeoutError", Message: "the code computed for longer than it may"}
	case killed(c.state):
		return &RunError{Phase: PhaseMemory, Name: "MemoryError", Message: "the process of the code was killed, most likely for its memory"}
	default:
		log.Warn("a child that ran code ended unexpectedly", "state", c.state.String(), "said", said, "error", errors.New("no report"))
		return &RunError{Phase: PhaseRuntime, Name: "Error", Message: "the process of the code ended unexpectedly"}
	}
}
