package codemode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mcpgateway/services/codemode/blocks"
	"mcpgateway/services/sandbox"
)

// Outcome is the outcome of a run: the structuredContent of
// gateway_executeTool.
type Outcome struct {
	OK        bool              `json:"ok"`
	Result    json.RawMessage   `json:"result"` // null when nothing was returned
	Logs      []LogLine         `json:"logs"`
	Calls     []CallRecord      `json:"calls"`
	Plan      []PlannedCall     `json:"plan,omitempty"` // of a dry run
	Error     *sandbox.RunError `json:"error,omitempty"`
	Hints     []string          `json:"hints,omitempty"` // likely mistakes and their fixes, the cause first
	Saved     string            `json:"saved,omitempty"` // the outcome of a proposed recipe, in a sentence
	Truncated *Truncated        `json:"truncated,omitempty"`
	Usage     Usage             `json:"usage"`

	// Blocks is the content that the code returned, if it returned content
	// blocks. Result then describes them, without their data.
	Blocks []blocks.Shown `json:"-"`

	// TraceID is the id of the stored trace if the request awaits it. It is
	// empty if the trace could not be stored.
	TraceID string `json:"-"`
}

// LogLine is one line of the console.
type LogLine struct {
	Level string `json:"level"`
	Text  string `json:"text"`
	MS    int64  `json:"ms"` // since the start of the run
}

// CallRecord is the receipt of one call. Every call that the code started has
// one, whatever the run's outcome, to show which writes happened.
type CallRecord struct {
	Seq         int    `json:"seq"` // from 1, in the order of the calls
	Tool        string `json:"tool"`
	StartMS     *int64 `json:"startMs,omitempty"` // since the start of the code; nil for a call that was never started
	MS          int64  `json:"ms"`
	OK          bool   `json:"ok"`
	Error       string `json:"error,omitempty"`
	ArgsBytes   int    `json:"argsBytes"`
	ResultBytes int    `json:"resultBytes"`
	Effect      Effect `json:"effect"`
	DryRun      bool   `json:"dryRun,omitempty"` // recorded, not sent
}

// WasSent reports whether the call was started and not only listed by a dry
// run.
func (c CallRecord) WasSent() bool { return !c.DryRun && c.Error != notSent }

// PlannedCall is a call that a dry run did not send.
type PlannedCall struct {
	Seq       int             `json:"seq"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// Truncated reports what was truncated.
type Truncated struct {
	Result int `json:"result,omitempty"` // bytes of the whole result
	Logs   int `json:"logs,omitempty"`   // lines that were dropped
	Blocks int `json:"blocks,omitempty"` // content blocks that were replaced with a text
	// Names under which the whole is stored for the caller, or empty.
	StoredResult string `json:"storedResult,omitempty"`
	StoredLogs   string `json:"storedLogs,omitempty"`
}

// Usage is the resource usage of a run. MemoryBytes is the growth of its
// process; 0 means unknown, for example after the process was killed.
type Usage struct {
	MS          int64 `json:"ms"`
	CPUMillis   int64 `json:"cpuMs"`
	MemoryBytes int64 `json:"memoryBytes"`
	ToolCalls   int   `json:"toolCalls"`
}

var (
	errQueueFull = errors.New("run queue is full")
	jsonNull     = json.RawMessage("null")
)

func emptyOutcome(e *sandbox.RunError) Outcome {
	return Outcome{OK: e == nil, Result: jsonNull, Logs: []LogLine{}, Calls: []CallRecord{}, Error: e}
}

// limitError returns the error of a run that got no slot.
func limitError(ctx context.Context, err error) *sandbox.RunError {
	if ctx.Err() != nil && !errors.Is(err, errQueueFull) {
		return cancelled()
	}
	return &sandbox.RunError{
		Phase: sandbox.PhaseLimit, Name: "LimitError", Message: fmt.Sprintf("Too many runs are in progress: none finished within %d seconds.", int(MaxQueueWait/time.Second)),
		Hint: "Nothing was run. Try again later.", RetryAfterMS: MaxQueueWait.Milliseconds(),
	}
}

func cancelled() *sandbox.RunError {
	return &sandbox.RunError{Phase: sandbox.PhaseCancelled, Name: "AbortError", Message: "The run was cancelled."}
}

// advise adds to a failure what already happened and what to do next.
func advise(e *sandbox.RunError, calls []CallRecord) {
	e.StartedCalls = len(calls)
	if e.Hint == "" && strings.Contains(e.Message, "require") && strings.Contains(e.Message, "not defined") {
		e.Hint = sandbox.NoModules
	}
	var writes []string
	for _, c := range calls {
		if c.Effect != EffectRead && c.Tool != sandbox.StoreTool && !c.DryRun && (c.OK || strings.HasPrefix(c.Error, outcomeUnknownPrefix)) {
			writes = append(writes, fmt.Sprintf("%d %s", c.Seq, c.Tool))
		}
	}
	if len(writes) > 0 {
		shown := writes
		more := ""
		if len(shown) > 5 {
			shown, more = shown[:5], " and more"
		}
		e.Hint = strings.TrimSpace(e.Hint + fmt.Sprintf(" %d calls that may write have already happened (%s%s). Don't repeat them; see calls.", len(writes), strings.Join(shown, ", "), more))
	}
}

// truncated returns Truncated, which it creates.
func (o *Outcome) truncated() *Truncated {
	if o.Truncated == nil {
		o.Truncated = &Truncated{}
	}
	return o.Truncated
}

// ToolResult returns the outcome as a raw CallToolResult: the returned content
// blocks or the result as text for a model, and structuredContent. Neither
// includes the results of inner calls. Blocks of a type that supports rejects are
// replaced with text.
func (o Outcome) ToolResult(supports func(blockType string) bool) ([]byte, error) {
	structured, err := sandbox.Encode(o)
	if err != nil {
		return nil, err
	}
	content := make([][]byte, 0, len(o.Blocks)+1)
	for _, b := range o.Blocks {
		if supports(b.Type) {
			content = append(content, b.Raw)
		} else {
			content = append(content, blocks.Text(b.Words))
		}
	}
	if text := o.Text(); text != "" || len(content) == 0 {
		content = append(content, blocks.Text(text))
	}
	result := append([]byte(`{"content":[`), bytes.Join(content, []byte{','})...)
	result = append(append(result, `],"structuredContent":`...), structured...)
	return append(strconv.AppendBool(append(result, `,"isError":`...), !o.OK), '}'), nil
}

// Text renders the outcome for a model: the result unless it is blocks, then the
// logs, the error and the hints.
func (o Outcome) Text() string {
	var b strings.Builder
	if len(o.Blocks) == 0 && (o.OK || string(o.Result) != "null") {
		var s string
		if json.Unmarshal(o.Result, &s) == nil && string(o.Result) != "null" {
			b.WriteString(s)
		} else {
			b.Write(o.Result)
		}
		if o.Truncated != nil && o.Truncated.Result > 0 {
			fmt.Fprintf(&b, "\n[truncated: the whole result has %d bytes%s]", o.Truncated.Result, storedWords(o.Truncated.StoredResult))
		}
	}
	section := func(title string) {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "--- %s ---", title)
	}
	if len(o.Logs) > 0 {
		section("logs")
		for _, l := range o.Logs {
			fmt.Fprintf(&b, "\n[%s] %s", l.Level, l.Text)
		}
		if o.Truncated != nil && o.Truncated.Logs > 0 {
			fmt.Fprintf(&b, "\n[truncated: %d more lines%s]", o.Truncated.Logs, storedWords(o.Truncated.StoredLogs))
		}
	}
	if len(o.Plan) > 0 {
		section("plan")
		for _, p := range o.Plan {
			fmt.Fprintf(&b, "\n%d %s %s", p.Seq, p.Tool, p.Arguments)
		}
	}
	if o.Error != nil {
		section("error")
		fmt.Fprintf(&b, "\n%s: %s: %s", o.Error.Phase, o.Error.Name, o.Error.Message)
		if o.Error.Line > 0 {
			fmt.Fprintf(&b, "\nat line %d, column %d", o.Error.Line, o.Error.Column)
		}
		for _, c := range o.Calls {
			state := "ok"
			if !c.OK {
				state = "failed: " + c.Error
			}
			fmt.Fprintf(&b, "\ncall %d %s (%s): %s", c.Seq, c.Tool, c.Effect, state)
		}
		if o.Error.Hint != "" {
			b.WriteString("\n" + o.Error.Hint)
		}
	}
	if o.Saved != "" {
		section("recipe")
		b.WriteString("\n" + o.Saved)
	}
	if len(o.Hints) > 0 {
		section("hints")
		for _, hint := range o.Hints {
			b.WriteString("\n" + hint)
		}
	}
	return b.String()
}
