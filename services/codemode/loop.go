package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"mcpgateway/services/codemode/blocks"
	"mcpgateway/services/sandbox"
)

// run is the gateway's side of one run.
type run struct {
	runner     *Runner
	request    *Request
	dispatcher Dispatcher
	client     context.Context // ends when the caller stops waiting
	ctx        context.Context // also ends at the deadline
	cancel     context.CancelFunc
	begin      time.Time
	started    time.Time // start of the code, after the type check
	deadline   time.Time
	tools      map[string]*Tool
	child      *sandbox.Child
	blocks     *blocks.Held

	mu       sync.Mutex
	closed   bool // the outcome has been returned; later changes are ignored
	records  []CallRecord
	plan     []PlannedCall
	planned  int // bytes of arguments in plan
	calls    int
	fetches  int
	finished int
	logs     []LogLine
	logLines int // log lines received from the child
	logBytes int
	queue    []*openCall
	queued   int // bytes of the arguments in queue
	held     int // bytes of the results being sent to the code
	open     map[*openCall]struct{}
	working  sync.WaitGroup

	telling sync.Mutex
	drafts  map[string]stored // values of a dry run
	draft   int               // their bytes
	whole   map[byte][]byte   // what was cut, by the first byte of its frame
}

func newRun(ctx context.Context, r *Runner, q *Request, d Dispatcher, begin time.Time) *run {
	deadline := begin.Add(q.Timeout)
	inner, cancel := context.WithDeadline(ctx, deadline)
	run := &run{
		runner: r, request: q, dispatcher: d, client: ctx, ctx: inner, cancel: cancel, begin: begin, deadline: deadline,
		tools: make(map[string]*Tool, len(q.Tools)), logs: []LogLine{}, records: []CallRecord{}, open: map[*openCall]struct{}{},
		blocks: blocks.NewHeld(q.Seed.Random),
	}
	for i := range q.Tools {
		run.tools[q.Tools[i].Name] = &q.Tools[i]
	}
	return run
}

// execute runs the code in a child and returns the outcome. It returns an error
// when no child can be started.
func (r *run) execute() (Outcome, error) {
	child, err := r.runner.pool.Take(r.ctx)
	if err != nil {
		if r.client.Err() != nil || errors.Is(err, sandbox.ErrClosed) {
			return r.outcome(&sandbox.FinishMessage{Error: cancelled()}), nil
		}
		return Outcome{}, err
	}
	r.child = child
	r.runner.warnUnconfined(child)
	defer r.runner.pool.Refill()
	defer r.runner.pool.Discard(child)
	r.started = time.Now()
	if err := child.Start(r.request.start(time.Until(r.deadline))); err != nil {
		return Outcome{}, err
	}
	end := r.listen()
	r.runner.pool.Discard(child)
	r.settle(end)
	result, logs := r.storeWhole(end)
	out := r.outcome(end)
	if out.Truncated != nil {
		out.Truncated.StoredResult, out.Truncated.StoredLogs = result, logs
	}
	return out, nil
}

// listen serves the child until it reports the outcome, exits, or must be
// killed.
func (r *run) listen() *sandbox.FinishMessage {
	limit := time.NewTimer(time.Until(r.deadline) + killGrace)
	defer limit.Stop()
	for {
		select {
		case f, open := <-r.child.Frames():
			if !open {
				if r.client.Err() != nil {
					return &sandbox.FinishMessage{Error: cancelled()}
				}
				return &sandbox.FinishMessage{Error: r.child.ExitError(r.runner.log)}
			}
			end, err := r.handleFrame(f)
			if err != nil {
				r.runner.log.Warn("worker protocol error", "error", err)
				return &sandbox.FinishMessage{Error: &sandbox.RunError{Phase: sandbox.PhaseRuntime, Name: "Error", Message: "The process that ran the code sent an invalid message and was stopped. Run the code again."}}
			}
			if end != nil {
				return end
			}
		case <-r.client.Done():
			return &sandbox.FinishMessage{Error: cancelled()}
		case <-limit.C:
			return &sandbox.FinishMessage{Error: &sandbox.RunError{Phase: sandbox.PhaseTimeout, Name: "TimeoutError", Message: "The code timed out. Do less in one run, or start calls in parallel."}}
		}
	}
}

// handleFrame handles one frame of the child. It returns the outcome of the run if the
// frame has it, or an error for an invalid frame.
func (r *run) handleFrame(f sandbox.Frame) (*sandbox.FinishMessage, error) {
	switch f.Kind {
	case sandbox.FrameCall, sandbox.FrameFetch:
		var m sandbox.CallMessage
		if err := json.Unmarshal(f.Body, &m); err != nil {
			return nil, err
		}
		return nil, r.accept(f.Kind == sandbox.FrameFetch, m)
	case sandbox.FrameLog:
		var m sandbox.LogMessage
		if err := json.Unmarshal(f.Body, &m); err != nil {
			return nil, err
		}
		return nil, r.log(LogLine(m))
	case sandbox.FrameWhole:
		return nil, r.keepWhole(f.Body)
	case sandbox.FrameFinish:
		var m sandbox.FinishMessage
		if err := json.Unmarshal(f.Body, &m); err != nil {
			return nil, err
		}
		if len(m.Result) > sandbox.MaxResult {
			return nil, fmt.Errorf("result has %d bytes", len(m.Result))
		}
		if len(m.Blocks) > sandbox.MaxBlocks {
			return nil, fmt.Errorf("result has %d blocks", len(m.Blocks))
		}
		return &m, nil
	default:
		return nil, fmt.Errorf("unknown frame kind %q", f.Kind)
	}
}

// log stores a line of the console.
func (r *run) log(line LogLine) error {
	switch line.Level {
	case "log", "info", "warn", "error", "debug":
	default:
		return fmt.Errorf("unknown log level %q", line.Level)
	}
	r.mu.Lock()
	r.logBytes += len(line.Text)
	r.logs = append(r.logs, line)
	r.logLines++
	over := r.logLines > sandbox.MaxLogLines || r.logBytes > sandbox.MaxLogBytes+2*sandbox.MaxLogLine
	done, started := r.finished, len(r.records)
	r.mu.Unlock()
	if over {
		return errors.New("worker exceeded its log limit")
	}
	if line.Level == "info" {
		r.reportProgress(Progress{Message: line.Text, Done: done, Started: started})
	}
	r.emitStep(Step{Line: &line})
	return nil
}

func (r *run) reportProgress(p Progress) {
	if r.request.Progress == nil {
		return
	}
	r.telling.Lock()
	defer r.telling.Unlock()
	r.request.Progress(p)
}

func (r *run) emitStep(s Step) {
	if r.request.OnStep == nil {
		return
	}
	r.telling.Lock()
	defer r.telling.Unlock()
	r.request.OnStep(s)
}

// settle ends the open calls. Reads are cancelled. If the code ended without
// being stopped, settle waits for calls that may write: after a cancelled
// write, its outcome would be unknown.
func (r *run) settle(end *sandbox.FinishMessage) {
	r.mu.Lock()
	for _, c := range r.queue {
		r.records[c.seq-1].Error = notSent
	}
	r.queue, r.queued = nil, 0
	spare := end.Error == nil || end.Error.Phase == sandbox.PhaseRuntime || end.Error.Phase == sandbox.PhaseLimit
	waits := false
	for c := range r.open {
		if spare && c.effect != EffectRead {
			waits = true
		} else {
			c.cancel()
		}
	}
	r.mu.Unlock()
	done := make(chan struct{})
	r.runner.options.Tasks.Go("calls of code", func() {
		r.working.Wait()
		close(done)
	})
	if waits {
		select {
		case <-done:
			return
		case <-r.ctx.Done():
		}
	}
	r.cancel()
	grace := time.NewTimer(cancelGrace)
	defer grace.Stop()
	select {
	case <-done:
	case <-grace.C:
	}
}

// outcome returns the outcome with the calls and logs recorded so far.
func (r *run) outcome(end *sandbox.FinishMessage) Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	out := emptyOutcome(end.Error)
	if len(end.Result) > 0 {
		out.Result = end.Result
	}
	out.Logs, out.Calls, out.Plan = r.logs, r.records, r.plan
	for i := range out.Calls {
		if c := &out.Calls[i]; !c.OK && c.Error == "" {
			c.Error = outcomeUnknownPrefix
		}
	}
	if lost := max(0, end.LostLogs); end.ResultBytes > 0 || lost > 0 {
		*out.truncated() = Truncated{Result: max(0, end.ResultBytes), Logs: lost}
	}
	if len(end.Blocks) > 0 {
		content := r.blocks.Returned(end.Blocks, max(0, end.BlocksLeftOut))
		out.Blocks, out.Result = content.Blocks, sandbox.CutJSON(content.Summary, sandbox.MaxResult)
		if content.LeftOut > 0 {
			out.truncated().Blocks = content.LeftOut
		}
	}
	if out.Error != nil {
		advise(out.Error, out.Calls)
	}
	out.Hints = hintsFor(r.request, &out, end.Facts)
	out.Usage = Usage{MS: time.Since(r.begin).Milliseconds(), CPUMillis: end.CPUMillis, MemoryBytes: end.Memory, ToolCalls: r.calls}
	if !end.Measured && r.child != nil {
		// The child could not report its usage. Its memory then stays unknown.
		if ms, known := r.child.CPUMillis(cancelGrace); known {
			out.Usage.CPUMillis = ms
		}
	}
	return out
}
