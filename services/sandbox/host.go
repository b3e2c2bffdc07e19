package sandbox

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"modernc.org/quickjs"
)

// host handles requests of the prelude. Submitted code can't access it.
func (e *engine) host(args []any) (any, error) {
	op := text(args, 0)
	switch op {
	case "call", "fetch":
		return e.hostCall(op, number(args, 1), text(args, 2), text(args, 3))
	case "log":
		return e.hostLog(text(args, 1), text(args, 2))
	case "timer":
		e.timers[number(args, 1)] = time.Now().Add(time.Duration(number(args, 2)) * time.Millisecond)
		if len(e.timers) > maxTimers {
			return nil, fmt.Errorf("more than %d timers are set", maxTimers)
		}
	case "untimer":
		delete(e.timers, number(args, 1))
	case "done":
		if e.outcome == nil && e.stopped.Load() == nil {
			e.lost = max(e.lost, number(args, 2))
			e.hostDone(args)
		}
	case "facts":
		if e.outcome == nil {
			e.seen = e.facts(text(args, 1))
		}
	case "failed":
		if e.outcome == nil {
			e.lost = max(e.lost, number(args, 3))
			e.hostFailed(text(args, 1), text(args, 2))
		}
	case "url":
		return resolveURL(text(args, 1), text(args, 2)), nil
	case "btoa":
		return base64.StdEncoding.EncodeToString(latin1(text(args, 1))), nil
	case "utf8": // decodes text that was sent as base64
		raw, err := base64.StdEncoding.DecodeString(text(args, 1))
		if err != nil {
			return nil, err
		}
		return strings.ToValidUTF8(strings.TrimPrefix(string(raw), "\ufeff"), "\ufffd"), nil
	case "atob":
		return decodeBase64(text(args, 1)), nil
	}
	return quickjs.Undefined{}, nil
}

func text(args []any, i int) string {
	if i >= len(args) {
		return ""
	}
	s, _ := args[i].(string)
	return s
}

func number(args []any, i int) int {
	if i >= len(args) {
		return 0
	}
	switch n := args[i].(type) {
	case int:
		return n
	case float64:
		return int(n)
	}
	return 0
}

// hostCall sends a call. It returns undefined, or the JSON of the failure if
// the call is rejected. The gateway also counts; this check only saves frames.
func (e *engine) hostCall(op string, id int, name, arguments string) (any, error) {
	refuse := func(kind, format string, args ...any) (any, error) {
		why, err := json.Marshal(FailureMessage{Kind: kind, Tool: ClipText(name, 200), Message: fmt.Sprintf(format, args...)})
		return string(why), err
	}
	kind := byte(FrameCall)
	if op == "fetch" {
		kind = FrameFetch
		if e.fetches++; e.fetches > MaxFetches {
			return refuse("limit", "A run can send at most %d fetch requests.", MaxFetches)
		}
	} else if e.calls++; e.calls > MaxCalls {
		return refuse("limit", "A run can make at most %d tool calls.", MaxCalls)
	}
	if name == StoreTool {
		return e.hostStore(refuse, id, arguments)
	}
	if len(arguments) > MaxArguments+MaxCode || len(name) > MaxCode {
		return refuse("limit", "The arguments are too long; the maximum is %d bytes.", MaxArguments)
	}
	e.open++
	if err := e.send(kind, CallMessage{ID: uint32(id), Name: name, Arguments: arguments}); err != nil {
		return nil, err
	}
	return quickjs.Undefined{}, nil
}

// hostStore sends a call that stores a value.
func (e *engine) hostStore(refuse func(kind, format string, args ...any) (any, error), id int, arguments string) (any, error) {
	message, err := Encode(CallMessage{ID: uint32(id), Name: StoreTool, Arguments: arguments})
	switch {
	case err != nil:
		return nil, err
	case len(arguments) > MaxStore || len(message) > MaxFrame:
		return refuse("limit", "The value is too large; the maximum is %d bytes.", MaxWhole)
	}
	e.open++
	e.writing.Lock()
	defer e.writing.Unlock()
	if err := writeFrame(e.out, FrameCall, message); err != nil {
		return nil, err
	}
	return quickjs.Undefined{}, nil
}

// sendWhole sends a result or logs that are cut.
func (e *engine) sendWhole(kind byte, text string) {
	if !e.whole || len(text) > MaxWhole {
		return
	}
	e.writing.Lock()
	defer e.writing.Unlock()
	// If the gateway has gone, the outcome can't be sent either.
	_ = writeFrame(e.out, FrameWhole, append([]byte{kind}, text...))
}

// hostLog reports a console line within the limits and returns whether they are
// reached.
func (e *engine) hostLog(level, line string) (any, error) {
	if e.whole && e.logs.Len()+len(line) < MaxWhole {
		fmt.Fprintf(&e.logs, "[%s] %s\n", level, line)
	}
	if e.lines >= MaxLogLines || e.logBytes >= MaxLogBytes {
		if e.unseen++; e.whole && e.logs.Len()+MaxLogLine < MaxWhole {
			return false, nil
		}
		e.lost = max(1, e.unseen)
		return true, nil
	}
	line = ClipText(line, min(MaxLogLine, MaxLogBytes-e.logBytes))
	e.lines++
	e.logBytes += len(line)
	return false, e.send(FrameLog, LogMessage{Level: level, Text: line, MS: time.Since(e.started).Milliseconds()})
}

func (e *engine) hostDone(args []any) {
	e.outcome = &FinishMessage{}
	if len(args) < 2 {
		return
	}
	result, ok := args[1].(string)
	if !ok {
		return // undefined
	}
	if len(result) > maxRawResult {
		e.outcome = &FinishMessage{Error: &RunError{
			Phase: PhaseLimit, Name: "RangeError", Message: fmt.Sprintf("The result has %d bytes of JSON; the maximum is %d.", len(result), maxRawResult),
			Hint: "Return only the data you need.",
		}}
		return
	}
	raw := json.RawMessage(strings.ToValidUTF8(result, "\ufffd"))
	if blocks, ok := Blocks(raw); ok {
		e.outcome.BlocksLeftOut = max(0, len(blocks)-MaxBlocks)
		e.outcome.Blocks = blocks[:min(len(blocks), MaxBlocks)]
		return
	}
	if len(raw) > MaxResult {
		e.outcome.ResultBytes = len(raw)
		e.sendWhole(WholeResult, string(raw))
		raw = CutJSON(raw, MaxResult)
	}
	e.outcome.Result = raw
}

// hostFailed reports the run error for what the code threw.
func (e *engine) hostFailed(described, while string) {
	var d struct {
		Name, Message, Stack, Tool, Kind string
		Seq                              int
	}
	// If the description is invalid, the error has no text.
	_ = json.Unmarshal([]byte(described), &d)
	out := &RunError{Phase: phaseOf(d.Name, d.Message, d.Kind), Name: ClipText(d.Name, 200), Message: ClipText(d.Message, MaxErrorText), Tool: ClipText(d.Tool, 200), CallSeq: d.Seq}
	line, column, frames := e.userFrames(d.Stack)
	if e.stopped.Load() != nil {
		out = e.explain(errStopped)
	}
	out.Line, out.Column, out.Stack = line, column, frames
	// When out of memory, the engine throws null because it can't allocate an
	// error. Pages that the code never wrote are not resident, so the process
	// has grown by less than the limit.
	if d.Name == "Thrown" && d.Message == "null" && e.grown() > MaxMemory/4 {
		out.Phase, out.Name, out.Message = PhaseMemory, "MemoryError", "The code exceeded its memory limit. Process less data in one run."
	}
	if while == "result" {
		out.Message = ClipText("The result can't be converted to JSON: "+d.Message, MaxErrorText)
		out.Hint = "Return plain data: objects, arrays, strings, numbers, booleans, null."
	}
	e.outcome = &FinishMessage{Error: out}
}

// resolveURL returns the parts of an absolute URL as JSON text, or nil.
func resolveURL(input, base string) any {
	u, err := url.Parse(strings.TrimSpace(input))
	if err != nil {
		return nil
	}
	if !u.IsAbs() {
		b, err := url.Parse(base)
		if err != nil || !b.IsAbs() {
			return nil
		}
		u = b.ResolveReference(u)
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	special := u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "ws" || u.Scheme == "wss"
	if special && u.Host == "" {
		return nil
	}
	if port := map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443"}[u.Scheme]; port != "" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	if special && u.Path == "" {
		u.Path = "/"
	}
	origin := "null"
	if special {
		origin = u.Scheme + "://" + u.Host
	}
	password, _ := u.User.Password()
	prefixed := func(mark, s string) string {
		if s == "" {
			return ""
		}
		return mark + s
	}
	path := u.EscapedPath()
	if u.Opaque != "" {
		path = u.Opaque
	}
	parts, err := json.Marshal(map[string]string{
		"href": u.String(), "origin": origin, "protocol": u.Scheme + ":", "username": u.User.Username(), "password": password,
		"host": u.Host, "hostname": u.Hostname(), "port": u.Port(), "pathname": path,
		"search": prefixed("?", u.RawQuery), "hash": prefixed("#", u.EscapedFragment()),
	})
	if err != nil {
		return nil
	}
	return string(parts)
}

func latin1(s string) []byte {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		out = append(out, byte(r))
	}
	return out
}

// decodeBase64 returns the bytes as characters up to U+00FF, or nil.
func decodeBase64(s string) any {
	s = strings.TrimRight(strings.Join(strings.Fields(s), ""), "=")
	raw, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return nil
	}
	out := make([]rune, len(raw))
	for i, b := range raw {
		out[i] = rune(b)
	}
	return string(out)
}
