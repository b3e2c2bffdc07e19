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

// unknownEnd begins the error of a call whose answer nobody waited for.
const unknownEnd = "not answered before the run ended: it may have happened"

// ownExecute is the built-in that must not be reached from within itself.
const ownExecute = "gateway_executeTool"

// ownPrefix begins the names of the gateway's own tools, which only read.
const ownPrefix = "gateway_"

// openCall is a call that the code made.
type openCall struct {
	id        uint32
	seq       int
	fetch     bool
	name      string
	arguments []byte
	effect    Effect
	refused   *reply // instead of making the call
	ctx       context.Context
	cancel    context.CancelFunc
	started   time.Time
}

// accept numbers a call, records it and starts it when there is room. It
// returns an error for more calls than a child may send.
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
		} else if strings.HasPrefix(m.Name, ownPrefix) {
			c.effect = EffectRead
		}
	}
	if r.calls > sandbox.MaxCalls || r.fetches > sandbox.MaxFetches {
		return errors.New("more calls than agreed")
	}
	c.seq = len(r.records) + 1
	record := CallRecord{Seq: c.seq, Tool: sandbox.ClipText(m.Name, 200), ArgsBytes: len(m.Arguments), Effect: c.effect}
	if isFetch {
		record.Tool = "fetch"
	}
	r.records = append(r.records, record)
	if r.queued += len(c.arguments); r.queued > MaxQueuedArguments {
		r.queued -= len(c.arguments)
		c.arguments = nil
		refusal := failed("limit", "the arguments of the calls that wait have more than %d bytes: await some calls first", MaxQueuedArguments)
		c.refused = &refusal
		c.ctx, c.cancel = context.WithCancel(r.ctx)
		c.started = time.Now()
		r.working.Go(r.runner.options.Tasks.Func("call of code", func() { r.perform(c) }))
		return nil
	}
	r.queue = append(r.queue, c)
	r.pump()
	return nil
}

// pump starts calls in the order in which they were made. The caller holds
// the lock.
func (r *run) pump() {
	for len(r.queue) > 0 && len(r.open) < MaxParallelCalls {
		c := r.queue[0]
		r.queue = r.queue[1:]
		r.queued -= len(c.arguments)
		c.ctx, c.cancel = context.WithCancel(r.ctx)
		c.started = time.Now()
		r.open[c] = struct{}{}
		r.working.Go(r.runner.options.Tasks.Func("call of code", func() { r.perform(c) }))
	}
}

// reply is the answer to a call on its way to the code.
type reply struct {
	status  byte
	data    []byte
	failure *sandbox.FailureMessage
	planned bool
}

func failed(kind, format string, args ...any) reply {
	return reply{status: sandbox.AnswerError, failure: &sandbox.FailureMessage{Kind: kind, Message: sandbox.ClipText(fmt.Sprintf(format, args...), sandbox.MaxErrorText)}}
}

// perform makes one call, notes how it ended and answers the code. The place
// is kept until the code took the answer, so that a busy program cannot pile
// answers up.
func (r *run) perform(c *openCall) {
	defer c.cancel()
	r.begun(c)
	out := r.send(c)
	out, held := r.hold(out)
	note := r.note(c, out)
	if note != nil {
		r.show(Step{Ended: &note.record})
	}
	if out.failure != nil {
		out.failure.Tool, out.failure.Seq = c.name, c.seq
		if c.fetch {
			out.failure.Tool = "fetch"
		}
		// Strings and raw JSON always marshal; content was checked.
		out.data, _ = sandbox.Encode(out.failure)
	}
	// Past its end a run hears no more: its error is the end and not that of
	// a call.
	if r.ctx.Err() == nil {
		r.child.Answer(c.id, out.status, out.data)
	}
	r.mu.Lock()
	r.held -= held
	delete(r.open, c)
	r.pump()
	r.mu.Unlock()
	if note != nil {
		r.tell(note.progress)
	}
}

// send makes one call and returns its result. A panic is its failure.
func (r *run) send(c *openCall) (out reply) {
	err := r.runner.options.Tasks.Try("call of code", func() error {
		switch {
		case c.refused != nil:
			out = *c.refused
		case c.fetch:
			out = r.performFetch(c)
		default:
			out = r.performTool(c)
		}
		return nil
	})
	if err != nil {
		return failed("tool", "the call failed in the gateway: see its log")
	}
	return out
}

// begun shows that a call was sent.
func (r *run) begun(c *openCall) {
	if r.request.Watch == nil {
		return
	}
	r.mu.Lock()
	record := r.records[c.seq-1]
	r.mu.Unlock()
	r.show(Step{Began: &record})
}

// ended is what a call that ended gives to tell.
type ended struct {
	progress Progress
	record   CallRecord
}

// hold counts a result among those on their way to the code and returns its
// bytes. One for which there is no room is replaced by the failure that says
// so.
func (r *run) hold(out reply) (kept reply, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held+len(out.data) > MaxHeldResults {
		return failed("limit", "the results of the calls that run at once have more than %d bytes: await some calls first", MaxHeldResults), 0
	}
	r.held += len(out.data)
	return out, len(out.data)
}

// note records how a call ended and returns what to tell the client, or nil
// when the run is over.
func (r *run) note(c *openCall, out reply) *ended {
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
	return &ended{
		progress: Progress{
			Message: fmt.Sprintf("%s %s (%d/%d, %d ms)", record.Tool, word, r.finished, len(r.records), record.MS),
			Done:    r.finished, Started: len(r.records),
		},
		record: *record,
	}
}

// performTool makes a tool call as tools/call would.
func (r *run) performTool(c *openCall) reply {
	switch {
	case c.name == ownExecute:
		return failed("invalid", "code cannot run code: call the tool itself")
	case len(c.arguments) > sandbox.MaxArguments:
		return failed("limit", "the arguments have %d bytes, more than %d", len(c.arguments), sandbox.MaxArguments)
	case rawjson.Kind(c.arguments) != '{' || rawjson.Valid(c.arguments, rawjson.Lenient) != nil:
		return failed("invalid", "the arguments must be one object")
	}
	if tool := r.tools[c.name]; tool != nil && r.runner.options.Validate != nil {
		if err := r.runner.options.Validate.Check(tool.Definition, c.arguments); err != nil {
			return failed("invalid", "%s", messageOf(err))
		}
	}
	if r.request.DryRun && c.effect != EffectRead {
		return r.record(c)
	}
	result, err := r.dispatcher.Call(c.ctx, c.name, c.arguments)
	if err != nil {
		return r.callFailed(c, err)
	}
	return unwrap(result)
}

// record keeps a call of a dry run as a step of the plan.
func (r *run) record(c *openCall) reply {
	placeholder, err := sandbox.Encode(map[string]any{"dryRun": true, "tool": c.name, "arguments": json.RawMessage(c.arguments)})
	if err != nil {
		return failed("invalid", "the arguments cannot be recorded")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.planned += len(c.arguments); r.planned > MaxInput {
		return failed("limit", "the plan of a dry run holds at most %d bytes of arguments", MaxInput)
	}
	if !r.closed {
		r.plan = append(r.plan, PlannedCall{Seq: c.seq, Tool: c.name, Arguments: c.arguments})
	}
	return reply{status: sandbox.AnswerJSON, data: placeholder, planned: true}
}

// callFailed turns the error of a call into what the code catches.
func (r *run) callFailed(c *openCall, err error) reply {
	switch {
	case r.client.Err() != nil:
		return failed("cancelled", "%s (the run was stopped)", unknownEnd)
	case r.ctx.Err() != nil && errors.Is(r.ctx.Err(), context.DeadlineExceeded):
		return failed("timeout", "%s (its time was over)", unknownEnd)
	case c.ctx.Err() != nil:
		return failed("cancelled", "%s (the code did not wait for it)", unknownEnd)
	case fault.Is(err, fault.CodeUpstreamTimeout):
		return failed("timeout", "%s", messageOf(err))
	default:
		return failed("tool", "%s", messageOf(err))
	}
}

// messageOf returns the text of an error that may be shown: a fault's
// message, or that of a raw JSON-RPC error.
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

// unwrap takes out of a raw CallToolResult what the code wants of it: the
// structured content; else the text, parsed when it is a JSON object or
// array; else the content as it is. A result with isError is a failure.
func unwrap(raw []byte) reply {
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return failed("tool", "the result of the tool is not an object")
	}
	content := o.Get("content")
	text, onlyText := joinText(content)
	if string(o.Get("isError")) == "true" {
		if text == "" {
			text = "the tool failed without a message"
		}
		out := failed("tool", "%s", text)
		if len(content) <= sandbox.MaxArguments {
			out.failure.Content = content
		}
		return out
	}
	out := reply{status: sandbox.AnswerUndefined}
	switch structured := o.Get("structuredContent"); {
	case structured != nil && rawjson.Kind(structured) != 'n':
		out = reply{status: sandbox.AnswerJSON, data: structured}
	case onlyText:
		out = reply{status: sandbox.AnswerText, data: []byte(text)}
		trimmed := bytes.TrimSpace(out.data)
		if len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && rawjson.Valid(trimmed, rawjson.Lenient) == nil {
			out = reply{status: sandbox.AnswerJSON, data: trimmed}
		}
	case content != nil:
		out = reply{status: sandbox.AnswerJSON, data: append(append([]byte(`{"content":`), content...), '}')}
	}
	if len(out.data) > MaxToolResult {
		return failed("limit", "the result has %d bytes, more than the %d that may enter the code: ask the tool for less", len(out.data), MaxToolResult)
	}
	return out
}

// joinText returns the texts of a content array, one under the other; only is
// false when there is any other block, or none.
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
