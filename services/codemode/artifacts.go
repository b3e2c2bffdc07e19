package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"mcpgateway/services/artifacts"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/sandbox"
)

// Artifacts store the values of the code's caller. Errors are faults.
type Artifacts interface {
	// Store stores JSON or text under a name and returns when it expires.
	Store(ctx context.Context, name string, isText bool, data []byte) (expires time.Time, err error)
	// Load returns the value stored under a name.
	Load(ctx context.Context, name string) (data []byte, isText bool, err error)
}

// noArtifacts is the failure of a run whose caller can't store values.
const noArtifacts = "Storing values is not available here."

// storeWholeTime limits storing what was cut from a result.
const storeWholeTime = 10 * time.Second

// maxQueued returns the maximum size of queued arguments with those of a call. A
// stored value may be larger than other arguments.
func maxQueued(name string) int {
	if name == sandbox.StoreTool {
		return MaxQueuedArguments + sandbox.MaxStore
	}
	return MaxQueuedArguments
}

// stored is a value of a dry run, which stores nothing.
type stored struct {
	data   []byte
	isText bool
}

// reply returns the value for the code.
func (s stored) reply() reply {
	if s.isText {
		return reply{status: sandbox.ReplyText, data: s.data}
	}
	return reply{status: sandbox.ReplyJSON, data: s.data}
}

// store stores a value for the caller. A text is stored as text, anything else as
// JSON. A dry run keeps the value for its own loads.
func (r *run) store(c *openCall) reply {
	o, err := rawjson.ParseObject(c.arguments, rawjson.Lenient)
	name, ok := o.String("name")
	value := o.Get("value")
	if err != nil || !ok || value == nil {
		return failed("invalid", "gateway.store takes a name and a value that has a JSON form.")
	}
	if r.request.Artifacts == nil {
		return failed("invalid", "%s", noArtifacts)
	}
	v := stored{data: value}
	if text, ok := rawjson.String(value); ok {
		v = stored{data: []byte(text), isText: true}
	}
	if r.request.DryRun {
		return r.draftValue(c, name, v)
	}
	expires, err := r.request.Artifacts.Store(c.ctx, name, v.isText, v.data)
	if err != nil {
		return r.callFailed(c, err)
	}
	out, err := sandbox.Encode(map[string]any{"name": name, "bytes": len(v.data), "expiresAt": expires.UTC().Format(time.RFC3339)})
	if err != nil {
		return failed("invalid", "The value can't be stored.")
	}
	return reply{status: sandbox.ReplyJSON, data: out}
}

// draftValue adds a value to the plan of a dry run by its size.
func (r *run) draftValue(c *openCall, name string, v stored) reply {
	if err := artifacts.CheckName(name); err != nil {
		return failed("invalid", "%s", messageOf(err))
	}
	c.arguments = fmt.Appendf(nil, `{"name":%q,"bytes":%d}`, name, len(v.data))
	out := r.record(c)
	if out.failure != nil {
		return out
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draft += len(v.data); r.draft > artifacts.MaxBytes {
		return failed("limit", "A dry run can store values of %d bytes.", artifacts.MaxBytes)
	}
	if r.drafts == nil {
		r.drafts = map[string]stored{}
	}
	r.drafts[name] = v
	return out
}

// load returns the value that the caller stored under a name.
func (r *run) load(c *openCall) reply {
	o, err := rawjson.ParseObject(c.arguments, rawjson.Lenient)
	name, ok := o.String("name")
	if err != nil || !ok {
		return failed("invalid", "gateway.load takes the name of a stored value.")
	}
	r.mu.Lock()
	draft, found := r.drafts[name]
	r.mu.Unlock()
	switch {
	case found:
		return draft.reply()
	case r.request.Artifacts == nil:
		return failed("invalid", "%s", noArtifacts)
	}
	data, isText, err := r.request.Artifacts.Load(c.ctx, name)
	if err != nil {
		return r.callFailed(c, err)
	}
	return stored{data: data, isText: isText}.reply()
}

// keepWhole stores a result or logs that are cut until the end of the run.
func (r *run) keepWhole(body []byte) error {
	if len(body) < 1 || len(body) > 1+sandbox.MaxWhole || body[0] != sandbox.WholeResult && body[0] != sandbox.WholeLogs || r.whole[body[0]] != nil {
		return errors.New("invalid frame with a whole")
	}
	if r.whole == nil {
		r.whole = map[byte][]byte{}
	}
	r.whole[body[0]] = body[1:]
	return nil
}

// storeWhole stores what the result doesn't show and returns the names. A name is
// empty if nothing was stored.
func (r *run) storeWhole(end *sandbox.FinishMessage) (result, logs string) {
	if r.request.Artifacts == nil || r.client.Err() != nil || len(r.whole) == 0 {
		return "", ""
	}
	ctx, cancel := context.WithTimeout(r.client, storeWholeTime)
	defer cancel()
	put := func(prefix string, isText bool, data []byte) string {
		name := artifacts.NameOf(prefix, data)
		if _, err := r.request.Artifacts.Store(ctx, name, isText, data); err != nil {
			r.runner.log.Warn("whole answer not stored", "project", r.request.ProjectID, "error", err)
			return ""
		}
		return name
	}
	if raw := r.whole[sandbox.WholeResult]; raw != nil && end.ResultBytes > 0 && json.Valid(raw) {
		if text, ok := rawjson.String(raw); ok {
			result = put("result", true, []byte(text))
		} else {
			result = put("result", false, raw)
		}
	}
	if lines := r.whole[sandbox.WholeLogs]; lines != nil {
		logs = put("logs", true, lines)
	}
	return result, logs
}

// storedWords describes where the whole of a result is.
func storedWords(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf("; it is stored for 24 hours: await gateway.load(%q) in code", name)
}
