package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"mcpgateway/services/sandbox"
)

// run is one run from the gateway's side.
type run struct {
	runner     *Runner
	request    *Request
	dispatcher Dispatcher
	client     context.Context // ends when nobody waits for the outcome
	ctx        context.Context // ends at the deadline, too
	cancel     context.CancelFunc
	begin      time.Time
	deadline   time.Time
	tools      map[string]*Tool
	child      *sandbox.Child

	mu       sync.Mutex
	closed   bool // the outcome was taken; what comes later changes nothing
	records  []CallRecord
	plan     []PlannedCall
	planned  int // bytes
	calls    int
	fetches  int
	finished int
	logs     []LogLine
	heard    int // lines from the child
	logBytes int
	queue    []*openCall
	queued   int // bytes of the arguments that wait
	held     int // bytes of the results on their way to the code
	open     map[*openCall]struct{}
	working  sync.WaitGroup

	telling sync.Mutex
}

func newRun(ctx context.Context, r *Runner, q *Request, d Dispatcher, begin time.Time) *run {
	deadline := begin.Add(q.Timeout)
	inner, cancel := context.WithDeadline(ctx, deadline)
	run := &run{
		runner: r, request: q, dispatcher: d, client: ctx, ctx: inner, cancel: cancel, begin: begin, deadline: deadline,
		tools: make(map[string]*Tool, len(q.Tools)), logs: []LogLine{}, records: []CallRecord{}, open: map[*openCall]struct{}{},
	}
	for i := range q.Tools {
		run.tools[q.Tools[i].Name] = &q.Tools[i]
	}
	return run
}

// execute runs the code in a child and returns the outcome. Its errors are
// those of a child that cannot be had.
func (r *run) execute() (Outcome, error) {
	child, err := r.runner.pool.Take(r.ctx)
	if err != nil {
		if r.client.Err() != nil || errors.Is(err, sandbox.ErrClosed) {
			return r.outcome(&sandbox.FinishMessage{Error: cancelled()}), nil
		}
		return Outcome{}, err
	}
	r.child = child
	r.runner.checkConfined(child)
	defer r.runner.pool.Refill()
	defer r.runner.pool.Discard(child)
	if err := child.Start(r.request.start(time.Until(r.deadline))); err != nil {
		return Outcome{}, err
	}
	end := r.listen()
	r.runner.pool.Discard(child)
	r.settle(end)
	return r.outcome(end), nil
}

// listen serves the child until it reports its end, dies, or must be ended.
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
			end, err := r.hear(f)
			if err != nil {
				r.runner.log.Warn("a child that ran code broke its protocol", "error", err)
				return &sandbox.FinishMessage{Error: &sandbox.RunError{Phase: sandbox.PhaseRuntime, Name: "Error", Message: "the process of the code misbehaved and was ended"}}
			}
			if end != nil {
				return end
			}
		case <-r.client.Done():
			return &sandbox.FinishMessage{Error: cancelled()}
		case <-limit.C:
			return &sandbox.FinishMessage{Error: &sandbox.RunError{Phase: sandbox.PhaseTimeout, Name: "TimeoutError", Message: "the code did not end within its time"}}
		}
	}
}

// hear handles one frame. It returns how the run ended, or an error for what
// no honest child sends.
func (r *run) hear(f sandbox.Frame) (*sandbox.FinishMessage, error) {
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
	case sandbox.FrameFinish:
		var m sandbox.FinishMessage
		if err := json.Unmarshal(f.Body, &m); err != nil {
			return nil, err
		}
		if len(m.Result) > sandbox.MaxResult {
			return nil, fmt.Errorf("a result of %d bytes", len(m.Result))
		}
		return &m, nil
	default:
		return nil, fmt.Errorf("a frame of kind %q", f.Kind)
	}
}

// log keeps a line of the console.
func (r *run) log(line LogLine) error {
	switch line.Level {
	case "log", "info", "warn", "error", "debug":
	default:
		return fmt.Errorf("a log line of level %q", line.Level)
	}
	r.mu.Lock()
	r.logBytes += len(line.Text)
	r.logs = append(r.logs, line)
	r.heard++
	over := r.heard > sandbox.MaxLogLines || r.logBytes > sandbox.MaxLogBytes+2*sandbox.MaxLogLine
	done, started := r.finished, len(r.records)
	r.mu.Unlock()
	if over {
		return errors.New("more log lines than agreed")
	}
	if line.Level == "info" {
		r.tell(Progress{Message: line.Text, Done: done, Started: started})
	}
	r.show(Step{Line: &line})
	return nil
}

func (r *run) tell(p Progress) {
	if r.request.Progress == nil {
		return
	}
	r.telling.Lock()
	defer r.telling.Unlock()
	r.request.Progress(p)
}

func (r *run) show(s Step) {
	if r.request.Watch == nil {
		return
	}
	r.telling.Lock()
	defer r.telling.Unlock()
	r.request.Watch(s)
}

// settle brings the open calls to an end. Reads are cancelled. When the code
// ended by itself, calls that may write are waited for, because a write that
// is cancelled half-way leaves nobody knowing.
func (r *run) settle(end *sandbox.FinishMessage) {
	r.mu.Lock()
	for _, c := range r.queue {
		r.records[c.seq-1].Error = "not sent: the code ended first"
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
	grace := time.NewTimer(settleGrace)
	defer grace.Stop()
	select {
	case <-done:
	case <-grace.C:
	}
}

// outcome takes what is known now.
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
			c.Error = unknownEnd
		}
	}
	if lost := max(0, end.LostLogs); end.ResultBytes > 0 || lost > 0 {
		out.Truncated = &Truncated{Result: max(0, end.ResultBytes), Logs: lost}
	}
	if out.Error != nil {
		advise(out.Error, out.Calls)
	}
	out.Usage = Usage{MS: time.Since(r.begin).Milliseconds(), CPUMillis: end.CPUMillis, MemoryBytes: end.Memory, ToolCalls: r.calls}
	if !end.Measured && r.child != nil {
		// It could not say itself. How much memory it had, nobody knows then.
		if ms, known := r.child.CPUMillis(settleGrace); known {
			out.Usage.CPUMillis = ms
		}
	}
	return out
}
