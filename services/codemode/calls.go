package codemode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/sandbox"
)

// outcomeUnknownPrefix is the prefix of the error of a call that was still in flight when
// the run ended.
const outcomeUnknownPrefix = "The run ended before this call returned, so it may have taken effect"

// notSent is the error of a call that was still queued when the run ended.
const notSent = "not sent: the code ended first"

// ownExecute is the built-in tool that code must not call: it would run code.
const ownExecute = "gateway_executeTool"

// ownPrefix is the name prefix of built-in tools. Those that code can call only
// read.
const ownPrefix = "gateway_"

// ownAlias is the alias of recipes, and recipePrefix their name prefix. Recipes can
// write.
const (
	ownAlias     = "gateway"
	recipePrefix = ownAlias + "__"
)

// openCall is a call that the code made.
type openCall struct {
	id        uint32
	seq       int
	fetch     bool
	name      string
	arguments []byte
	effect    Effect
	refused   *reply // reply used instead of sending the call
	ctx       context.Context
	cancel    context.CancelFunc
	started   time.Time
}

// accept numbers a call, records it and starts it when there is capacity. It
// returns an error when the child exceeds the limit of calls.
func (r *run) accept(isFetch bool, m sandbox.CallMessage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &openCall{id: m.ID, fetch: isFetch, name: m.Name, arguments: []byte(m.Arguments), effect: EffectUnknown}
	if isFetch {
		r.fetches++
		c.effect = fetchEffect(c.arguments)
	} else {
		r.calls++
		if tool := r.tools[m.Name]; tool != nil {
			c.effect = tool.Effect
		} else if m.Name == sandbox.StoreTool {
			c.effect = EffectWrite
		} else if m.Name == sandbox.LoadTool {
			c.effect = EffectRead
		} else if strings.HasPrefix(m.Name, ownPrefix) && !strings.HasPrefix(m.Name, recipePrefix) {
			c.effect = EffectRead
		}
	}
	if r.calls > sandbox.MaxCalls || r.fetches > sandbox.MaxFetches {
		return errors.New("worker exceeded its call limit")
	}
	c.seq = len(r.records) + 1
	record := CallRecord{Seq: c.seq, Tool: sandbox.ClipText(m.Name, 200), ArgsBytes: len(m.Arguments), Effect: c.effect}
	if isFetch {
		record.Tool = "fetch"
	}
	r.records = append(r.records, record)
	if r.queued += len(c.arguments); r.queued > maxQueued(m.Name) {
		r.queued -= len(c.arguments)
		c.arguments = nil
		refusal := failed("limit", "The arguments of queued calls exceed %d bytes. Await some calls before you start more.", MaxQueuedArguments)
		c.refused = &refusal
		r.start(c)
		r.working.Go(r.runner.options.Tasks.Func("call of code", func() { r.dispatch(c) }))
		return nil
	}
	r.queue = append(r.queue, c)
	r.pump()
	return nil
}

// pump starts queued calls in order. The caller must hold mu.
func (r *run) pump() {
	for len(r.queue) > 0 && len(r.open) < MaxParallelCalls {
		c := r.queue[0]
		r.queue = r.queue[1:]
		r.queued -= len(c.arguments)
		r.start(c)
		r.open[c] = struct{}{}
		r.working.Go(r.runner.options.Tasks.Func("call of code", func() { r.dispatch(c) }))
	}
}

// start sets the context of a call and records its start. The caller must hold
// mu.
func (r *run) start(c *openCall) {
	c.ctx, c.cancel = context.WithCancel(r.ctx)
	c.started = time.Now()
	r.records[c.seq-1].StartMS = new(c.started.Sub(r.started).Milliseconds())
}

// reply is the response to a call of the code.
type reply struct {
	status  byte
	data    []byte
	failure *sandbox.FailureMessage
	planned bool
}

func failed(kind, format string, args ...any) reply {
	return reply{status: sandbox.ReplyError, failure: &sandbox.FailureMessage{Kind: kind, Message: sandbox.ClipText(fmt.Sprintf(format, args...), sandbox.MaxErrorText)}}
}

// dispatch sends one call, records its outcome and replies to the code. The call
// counts as open until the child has read the reply, so that a busy program
// can't accumulate replies.
func (r *run) dispatch(c *openCall) {
	defer c.cancel()
	r.begun(c)
	out := r.send(c)
	out, held := r.hold(out)
	note := r.note(c, out)
	if note != nil {
		r.emitStep(Step{Ended: &note.record})
	}
	if out.failure != nil {
		out.failure.Tool, out.failure.Seq = c.name, c.seq
		if c.fetch {
			out.failure.Tool = "fetch"
		}
		// Strings and raw JSON always marshal; content has been validated.
		out.data, _ = sandbox.Encode(out.failure)
	}
	// After the run's end no reply is sent: the error of the run is its end,
	// not that of a call.
	if r.ctx.Err() == nil {
		r.child.Reply(c.id, out.status, out.data)
	}
	r.mu.Lock()
	r.held -= held
	delete(r.open, c)
	r.pump()
	r.mu.Unlock()
	if note != nil {
		r.reportProgress(note.progress)
	}
}

// send runs one call and returns its result. A panic becomes a failure.
func (r *run) send(c *openCall) (out reply) {
	err := r.runner.options.Tasks.Try("call of code", func() error {
		limit := sandbox.MaxArguments
		if !c.fetch && c.name == sandbox.StoreTool {
			limit += sandbox.MaxStore
		}
		filled, err := r.blocks.Fill(c.arguments, limit)
		switch {
		case c.refused != nil:
			out = *c.refused
		case err != nil:
			out = failed("limit", "The call was not sent: %s.", err)
		case r.request.ReadOnly && c.effect != EffectRead:
			out = failed("invalid", "This recipe is declared to read, and %s may change data. An administrator can change the effect of the recipe.", c.name)
		case c.fetch:
			c.arguments = filled
			out = r.performFetch(c)
		default:
			c.arguments = filled
			out = r.performTool(c)
		}
		return nil
	})
	if err != nil {
		return failed("tool", "The call failed inside the gateway. An administrator can find the cause in the gateway log.")
	}
	return out
}

// begun reports to Watch that a call was sent.
func (r *run) begun(c *openCall) {
	if r.request.OnStep == nil {
		return
	}
	r.mu.Lock()
	record := r.records[c.seq-1]
	r.mu.Unlock()
	r.emitStep(Step{Began: &record})
}

// completedCall is a completed call, as reported to Progress and Watch.
type completedCall struct {
	progress Progress
	record   CallRecord
}

// hold adds a result to those being sent to the code and returns its size in
// bytes. A result above the limit is replaced with a failure.
func (r *run) hold(out reply) (kept reply, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held+len(out.data) > MaxHeldResults {
		return failed("limit", "The results of parallel calls exceed %d bytes. Await some calls before you start more.", MaxHeldResults), 0
	}
	r.held += len(out.data)
	return out, len(out.data)
}

// note records the outcome of a call and returns what to report, or nil when
// the run has ended.
func (r *run) note(c *openCall, out reply) *completedCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.finished++
	record := &r.records[c.seq-1]
	record.MS = time.Since(c.started).Milliseconds()
	record.OK = out.failure == nil
	record.DryRun = out.planned
	word := "done"
	if out.failure != nil {
		record.Error = sandbox.ClipText(out.failure.Message, 300)
		word = "failed"
	} else {
		record.ResultBytes = len(out.data)
	}
	return &completedCall{
		progress: Progress{
			Message: fmt.Sprintf("%s %s (%d/%d, %d ms)", record.Tool, word, r.finished, len(r.records), record.MS),
			Done:    r.finished, Started: len(r.records),
		},
		record: *record,
	}
}

// performTool sends a tool call with the checks of tools/call.
func (r *run) performTool(c *openCall) reply {
	switch {
	case c.name == ownExecute:
		return failed("invalid", "Code can't run code. Call the tools directly.")
	case c.name == sandbox.StoreTool:
		return r.store(c)
	case c.name == sandbox.LoadTool:
		return r.load(c)
	case len(c.arguments) > sandbox.MaxArguments:
		return failed("limit", "The arguments have %d bytes; the maximum is %d.", len(c.arguments), sandbox.MaxArguments)
	case rawjson.Kind(c.arguments) != '{' || rawjson.Valid(c.arguments, rawjson.Lenient) != nil:
		return failed("invalid", "Arguments must be a single object.")
	}
	if tool := r.tools[c.name]; tool != nil && r.runner.options.Validate != nil {
		if err := r.runner.options.Validate.Check(tool.Definition, c.arguments); err != nil {
			return failed("invalid", "Invalid arguments: %s", messageOf(err))
		}
	}
	if r.request.DryRun && c.effect != EffectRead {
		return r.record(c)
	}
	result, err := r.dispatcher.Call(c.ctx, c.name, c.arguments)
	if err != nil {
		return r.callFailed(c, err)
	}
	return r.unwrap(result)
}

// record adds a call of a dry run to the plan.
func (r *run) record(c *openCall) reply {
	placeholder, err := sandbox.Encode(map[string]any{"dryRun": true, "tool": c.name, "arguments": json.RawMessage(c.arguments)})
	if err != nil {
		return failed("invalid", "Arguments are not valid JSON.")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.planned += len(c.arguments); r.planned > MaxInput {
		return failed("limit", "The plan of a dry run is limited to %d bytes of arguments.", MaxInput)
	}
	if !r.closed {
		r.plan = append(r.plan, PlannedCall{Seq: c.seq, Tool: c.name, Arguments: c.arguments})
	}
	return reply{status: sandbox.ReplyJSON, data: placeholder, planned: true}
}

// callFailed returns the failure that the code catches for the error of a call.
func (r *run) callFailed(c *openCall, err error) reply {
	switch {
	case r.client.Err() != nil:
		return failed("cancelled", "%s (the run was stopped).", outcomeUnknownPrefix)
	case r.ctx.Err() != nil && errors.Is(r.ctx.Err(), context.DeadlineExceeded):
		return failed("timeout", "%s (the run timed out).", outcomeUnknownPrefix)
	case c.ctx.Err() != nil:
		return failed("cancelled", "%s (the code didn't await it).", outcomeUnknownPrefix)
	case fault.Is(err, fault.CodeUpstreamTimeout):
		return failed("timeout", "%s", messageOf(err))
	default:
		return failed("tool", "%s", messageOf(err))
	}
}

// messageOf returns the text of an error that users may see: the message of a
// fault or of a raw JSON-RPC error.
func messageOf(err error) string {
	var f *fault.Fault
	if errors.As(err, &f) {
		return f.Message
	}
	if o, parseErr := rawjson.ParseObject([]byte(err.Error()), rawjson.Lenient); parseErr == nil {
		if message, ok := o.String("message"); ok {
			return message
		}
	}
	return fault.From(err).Message
}

// unwrap returns the value of a raw CallToolResult for the code: the structured
// content; else the text, parsed if it is a JSON object or array; else the
// content itself, with handles in place of binary data. A result with isError is
// a failure.
func (r *run) unwrap(raw []byte) reply {
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return failed("tool", "The tool returned an invalid result: not an object.")
	}
	content := o.Get("content")
	text, onlyText := joinText(content)
	if structured := o.Get("structuredContent"); !onlyText && (structured == nil || rawjson.Kind(structured) == 'n') {
		if content, err = r.blocks.Hold(content); err != nil {
			return failed("limit", "The result can't be kept: %s.", err)
		}
	}
	if string(o.Get("isError")) == "true" {
		if text == "" {
			text = "The tool failed without an error message."
		}
		out := failed("tool", "%s", text)
		if len(content) <= sandbox.MaxArguments {
			out.failure.Content = content
		}
		return out
	}
	out := reply{status: sandbox.ReplyUndefined}
	switch structured := o.Get("structuredContent"); {
	case structured != nil && rawjson.Kind(structured) != 'n':
		out = reply{status: sandbox.ReplyJSON, data: structured}
	case onlyText:
		out = reply{status: sandbox.ReplyText, data: []byte(text)}
		trimmed := bytes.TrimSpace(out.data)
		if len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && rawjson.Valid(trimmed, rawjson.Lenient) == nil {
			out = reply{status: sandbox.ReplyJSON, data: trimmed}
		}
	case content != nil:
		out = reply{status: sandbox.ReplyJSON, data: append(append([]byte(`{"content":`), content...), '}')}
	}
	if len(out.data) > MaxToolResult {
		return failed("limit", "The result has %d bytes; the maximum is %d. Request less data.", len(out.data), MaxToolResult)
	}
	return out
}

// joinText joins the texts of a content array with newlines. only is false if
// there are other blocks, or none.
func joinText(content []byte) (text string, only bool) {
	blocks, err := rawjson.Elements(content, rawjson.Lenient)
	if err != nil {
		return "", false
	}
	var texts []string
	only = len(blocks) > 0
	for _, raw := range blocks {
		block, err := rawjson.ParseObject(raw, rawjson.Lenient)
		if err != nil {
			return "", false
		}
		s, isText := block.String("text")
		if kind, _ := block.String("type"); kind != "text" || !isText {
			only = false
			continue
		}
		texts = append(texts, s)
	}
	return strings.Join(texts, "\n"), only
}
