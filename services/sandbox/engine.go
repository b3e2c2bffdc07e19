package sandbox

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/quickjs"
)

// engine runs one program in a child. Only read and watch use other goroutines:
// the virtual machine requires a single one.
type engine struct {
	vm                                    *quickjs.VM
	prepare, begin, settle, fire, advance quickjs.Value

	out     io.Writer
	writing sync.Mutex

	answers chan answer // unbuffered: replies wait while the program is busy
	timers  map[int]time.Time
	open    int // calls without a reply
	calls   int
	fetches int

	memory  memoryMeter
	waiting int64 // peak resident size before the run, in bytes

	started  time.Time
	deadline time.Time
	program  *program
	lines    int // console lines
	logBytes int
	lost     int
	whole    bool            // results and logs that are cut are sent whole too
	logs     strings.Builder // all console lines, if whole
	unseen   int             // lines that are only in logs

	stopped  atomic.Pointer[string] // why the program was stopped
	finished atomic.Bool            // set by the goroutine that reports the outcome
	outcome  *FinishMessage
	seen     *Facts
}

type answer struct {
	id     uint32
	status byte
	data   []byte
}

var errStopped = errors.New("stopped")

func trimExpression(source string) string {
	return strings.TrimRight(strings.TrimSpace(source), ";")
}

// readStart returns the start message of the run, or nil when the input ends
// first.
func readStart(in io.Reader) (*StartMessage, error) {
	kind, body, err := readFrame(in)
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	case kind != frameStart:
		return nil, fmt.Errorf("first frame is %q, not a start frame", kind)
	}
	var start StartMessage
	return &start, json.Unmarshal(body, &start)
}

// read forwards replies and ends the process when the gateway has gone.
func (e *engine) read(in *bufio.Reader) {
	for {
		kind, body, err := readFrame(in)
		if err != nil || kind != frameAnswer || len(body) < 5 {
			os.Exit(0)
		}
		e.answers <- answer{binary.BigEndian.Uint32(body), body[4], body[5:]}
	}
}

// watch stops the program at its deadline or when its processor time is used
// up. The engine drops a stop request that arrives between two entries, so
// watch repeats it. Some native loops of the engine never check for it; then
// watch reports the outcome and ends the process.
func (e *engine) watch(cpuLimit time.Duration) {
	before := usedByProcess()
	var since time.Time
	for {
		time.Sleep(min(10*time.Millisecond, max(time.Until(e.deadline), time.Millisecond)))
		used := usedByProcess()
		switch {
		case !time.Now().Before(e.deadline):
			e.stop("deadline")
		case used-before > cpuLimit:
			e.stop("cpu")
		default:
			continue
		}
		e.vm.Interrupt()
		if since.IsZero() {
			since = time.Now()
		}
		if time.Since(since) > stopGrace && e.finished.CompareAndSwap(false, true) {
			// The gateway has gone if this fails; there is no one to report it
			// to.
			_ = e.send(FrameFinish, &FinishMessage{Error: e.explain(errStopped), CPUMillis: (usedByProcess() - before).Milliseconds(), Memory: e.grown(), Measured: true})
			os.Exit(0)
		}
	}
}

// grown returns the growth of the process since before the run, in bytes, or 0
// if unknown.
func (e *engine) grown() int64 { return max(0, e.memory.peak()-e.waiting) }

func (e *engine) stop(why string) { e.stopped.CompareAndSwap(nil, &why) }

func (e *engine) send(kind byte, message any) error {
	e.writing.Lock()
	defer e.writing.Unlock()
	return writeMessage(e.out, kind, message)
}

// run runs the program and reports its outcome.
func (e *engine) run(start *StartMessage) error {
	e.started, e.whole = time.Now(), start.Whole
	e.deadline = e.started.Add(time.Duration(start.TimeoutMS) * time.Millisecond)
	before := usedByProcess()
	cpuLimit := time.Duration(start.CPUMillis) * time.Millisecond
	go e.watch(cpuLimit)
	if err := e.execute(start); err != nil && e.outcome == nil {
		e.outcome = &FinishMessage{Error: e.explain(err)}
	}
	if !e.finished.CompareAndSwap(false, true) {
		select {} // the other goroutine reports and ends the process
	}
	e.outcome.CPUMillis, e.outcome.Memory, e.outcome.Measured = (usedByProcess() - before).Milliseconds(), e.grown(), true
	e.outcome.LostLogs, e.outcome.Facts = max(e.lost, e.unseen), e.seen
	if e.unseen > 0 {
		e.sendWhole(WholeLogs, e.logs.String())
	}
	return e.send(FrameFinish, e.outcome)
}

// execute runs the program of the start message. It sets the outcome or returns an
// error of the engine.
func (e *engine) execute(start *StartMessage) error {
	var m *compileError
	var compiling sync.WaitGroup
	compiling.Go(func() { e.program, m = compile(start.Code) })
	err := e.declare(start)
	compiling.Wait()
	switch {
	case m != nil:
		e.outcome = &FinishMessage{Error: &RunError{Phase: PhaseParse, Name: "SyntaxError", Message: ClipText(m.message, MaxErrorText), Line: m.line, Column: m.column}}
		return nil
	case err != nil:
		return err
	}
	main, err := e.vm.EvalValue(strings.Repeat("\n", userLine)+e.program.text, quickjs.EvalGlobal)
	if err != nil {
		var thrown *quickjs.Error
		if errors.As(err, &thrown) && thrown.Name == "SyntaxError" {
			line, column := e.locate(thrown)
			e.outcome = &FinishMessage{Error: &RunError{Phase: PhaseParse, Name: thrown.Name, Message: ClipText(thrown.Message, MaxErrorText), Line: line, Column: column}}
			return nil
		}
		return err
	}
	if _, err := e.begin.Call(quickjs.UndefinedValue, main); err != nil {
		return err
	}
	return e.loop()
}

// declare declares what prepare returns as constants of the program. Their
// scope is not an object, so code can't replace them.
func (e *engine) declare(start *StartMessage) error {
	settings, err := Encode(start)
	if err != nil {
		return err
	}
	parsed, err := e.vm.CallValue("JSON.parse", string(settings))
	if err != nil {
		return err
	}
	names, err := e.prepare.CallValue(quickjs.UndefinedValue, parsed)
	if err != nil {
		return err
	}
	const holder = "\x01names"
	atom, err := e.vm.NewAtom(holder)
	if err != nil {
		return err
	}
	global := e.vm.GlobalObject()
	defer global.Free()
	if err := e.vm.SetPropertyValue(global, atom, names); err != nil {
		return err
	}
	var script strings.Builder
	idents := []string{"gateway", "console", "input", "ToolError"}
	for _, space := range start.Namespaces {
		idents = append(idents, space.Ident)
	}
	quoted := strconv.Quote(holder)
	for _, ident := range idents {
		fmt.Fprintf(&script, "const %s = globalThis[%s][%q];", ident, quoted, ident)
	}
	fmt.Fprintf(&script, "delete globalThis[%s];", quoted)
	_, err = e.vm.Eval(script.String(), quickjs.EvalGlobal)
	return err
}

// loop runs ready jobs and waits for the others until the program ends.
func (e *engine) loop() error {
	for {
		if _, err := e.vm.ExecutePendingJobs(); err != nil {
			if e.outcome == nil && (e.stopped.Load() != nil || isFatal(err)) {
				return err
			}
			if e.outcome == nil {
				continue // the queue is long, or a job failed: its promise has the error
			}
		}
		switch {
		case e.outcome != nil:
			return nil
		case e.stopped.Load() != nil:
			return errStopped
		case e.open == 0 && len(e.timers) == 0:
			return errors.New("the code awaits a promise that never settles")
		}
		if err := e.wait(); err != nil {
			return err
		}
	}
}

// wait waits for a reply, a timer or the deadline and forwards it to the
// program.
func (e *engine) wait() error {
	id, due := e.nextTimer()
	wake := time.NewTimer(max(0, min(time.Until(due), time.Until(e.deadline))))
	defer wake.Stop()
	asleep := time.Now()
	select {
	case a := <-e.answers:
		e.open--
		if err := e.tick(asleep); err != nil {
			return err
		}
		_, err := e.settle.Call(quickjs.UndefinedValue, int(a.id), string(a.status), string(a.data))
		return err
	case <-wake.C:
		if !time.Now().Before(e.deadline) {
			e.stop("deadline")
			return errStopped
		}
		delete(e.timers, id)
		if err := e.tick(asleep); err != nil {
			return err
		}
		_, err := e.fire.Call(quickjs.UndefinedValue, id)
		if err != nil && !isFatal(err) && e.stopped.Load() == nil {
			return nil // an error thrown by a timer's function is ignored
		}
		return err
	}
}

// tick advances the program's clock by the time that it waited.
func (e *engine) tick(since time.Time) error {
	_, err := e.advance.Call(quickjs.UndefinedValue, int(time.Since(since).Milliseconds()))
	return err
}

func (e *engine) nextTimer() (id int, due time.Time) {
	due = e.deadline
	for i, at := range e.timers {
		if at.Before(due) || at.Equal(due) && (id == 0 || i < id) {
			id, due = i, at
		}
	}
	return id, due
}

// explain returns the run error for an engine error or a stop from outside.
func (e *engine) explain(err error) *RunError {
	line, column := 0, 0
	var thrown *quickjs.Error
	if errors.As(err, &thrown) {
		line, column = e.locate(thrown)
	}
	if why := e.stopped.Load(); why != nil {
		out := &RunError{Phase: PhaseTimeout, Name: "TimeoutError", Line: line, Column: column, Message: "The code timed out. Do less in one run, or start calls in parallel."}
		if *why == "cpu" {
			out.Message = "The code exceeded its processor time limit. Process less data in one run."
		}
		return out
	}
	out := &RunError{Phase: PhaseRuntime, Name: "Error", Message: ClipText(err.Error(), MaxErrorText), Line: line, Column: column}
	if thrown != nil {
		out.Name, out.Message = thrown.Name, ClipText(thrown.Message, MaxErrorText)
		out.Phase = phaseOf(thrown.Name, thrown.Message, "")
	}
	return out
}

// isFatal reports whether an error ended the engine and not only the current
// job.
func isFatal(err error) bool {
	var thrown *quickjs.Error
	return errors.As(err, &thrown) && thrown.Name == "InternalError" && (thrown.Message == "interrupted" || thrown.Message == "out of memory")
}

// phaseOf returns the phase of an engine error, from the limit that it
// indicates.
func phaseOf(name, message, kind string) Phase {
	switch {
	case kind == "limit":
		return PhaseLimit
	case name == "InternalError" && (message == "out of memory" || message == "stack overflow"),
		name == "RangeError" && (message == "invalid array buffer length" || message == "invalid string length"):
		return PhaseMemory
	default:
		return PhaseRuntime
	}
}

var frameAt = regexp.MustCompile(`(?:^|[ (])<(?:eval|input|evalScript)>:(\d+):(\d+)\)?$`)

// locate returns the position of an error in the submitted code, or zeros.
func (e *engine) locate(thrown *quickjs.Error) (line, column int) {
	if thrown.LineNumber > userLine && e.program != nil {
		if line, column, ok := e.program.place(thrown.LineNumber-userLine, max(1, thrown.ColumnNumber)); ok {
			return line, column
		}
	}
	line, column, _ = e.userFrames(thrown.Stack)
	return line, column
}

// userFrames filters a stack to the frames of the submitted code, with its own
// lines and columns. It also returns the position of the innermost frame.
func (e *engine) userFrames(stack string) (line, column int, frames []string) {
	if e.program == nil {
		return 0, 0, nil
	}
	for frame := range strings.SplitSeq(stack, "\n") {
		found := frameAt.FindStringSubmatch(frame)
		if found == nil {
			continue
		}
		l, _ := strconv.Atoi(found[1])
		c, _ := strconv.Atoi(found[2])
		if l <= userLine {
			continue
		}
		atLine, atColumn, ok := e.program.place(l-userLine, c)
		if !ok {
			continue
		}
		if line == 0 {
			line, column = atLine, atColumn
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(frame), "at "), " ")
		if strings.HasPrefix(name, "<") {
			name = "the code"
		}
		if frames = append(frames, fmt.Sprintf("at %s (%d:%d)", ClipText(name, 80), atLine, atColumn)); len(frames) == 10 {
			break
		}
	}
	return line, column, frames
}
