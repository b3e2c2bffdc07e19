// Package tasks runs tools of upstream servers as tasks (MCP 2025-11-25, "Tasks";
// SEP-2663 for 2026-07-28): it seals the ids of tasks in handles, stores the
// state of the tasks of clients, and waits for tasks on behalf of clients that do not use
// them.
package tasks

import (
	"bytes"
	"strconv"
	"time"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// Form is one of the two incompatible forms of tasks.
type Form byte

// The forms of tasks.
const (
	Core      Form = 'c' // MCP 2025-11-25
	Extension Form = 'x' // SEP-2663, with MCP 2026-07-28
)

// ExtensionID identifies the tasks extension in capabilities.
const ExtensionID = "io.modelcontextprotocol/tasks"

// metaRelated is the _meta key of messages that belong to a task.
const metaRelated = "io.modelcontextprotocol/related-task"

// Declares reports whether raw client capabilities contain the extension.
func Declares(capabilities []byte) bool {
	if !bytes.Contains(capabilities, []byte(`"extensions"`)) {
		return false
	}
	o, err := rawjson.ParseObject(capabilities, rawjson.Lenient)
	return err == nil && rawjson.Kind(o.Object("extensions").Get(ExtensionID)) == '{'
}

// Declare returns raw client capabilities, which may be nil, with the extension.
func Declare(capabilities []byte) []byte {
	if Declares(capabilities) {
		return capabilities
	}
	o := object(capabilities)
	extensions := object(o.Get("extensions"))
	extensions.Set(ExtensionID, []byte("{}"))
	o.Set("extensions", extensions.Bytes())
	return o.Bytes()
}

// Undeclare returns raw client capabilities without the extension.
func Undeclare(capabilities []byte) []byte {
	if !Declares(capabilities) {
		return capabilities
	}
	o := object(capabilities)
	extensions := o.Object("extensions")
	extensions.Delete(ExtensionID)
	if extensions.Len() == 0 {
		o.Delete("extensions")
	} else {
		o.Set("extensions", extensions.Bytes())
	}
	return o.Bytes()
}

// object returns the raw object, or an empty one for anything else.
func object(raw []byte) *rawjson.Object {
	if rawjson.Kind(raw) == '{' {
		if o, err := rawjson.ParseObject(raw, rawjson.Lenient); err == nil {
			return o
		}
	}
	o, _ := rawjson.ParseObject([]byte("{}"), rawjson.Lenient) // never fails
	return o
}

// RequiresTasks reports whether a raw JSON-RPC error of a stateless server rejects a
// client because it does not declare the extension.
func RequiresTasks(rpcError []byte) bool {
	o, err := rawjson.ParseObject(rpcError, rawjson.Lenient)
	if err != nil || string(o.Get("code")) != strconv.Itoa(upstream.CodeMissingClientCapability) {
		return false
	}
	required := o.Object("data").Object("requiredCapabilities")
	return required == nil || required.Object("extensions").Get(ExtensionID) != nil
}

// MissingCapability returns the raw JSON-RPC error for a request about tasks of a
// client that did not declare the extension (MCP 2026-07-28, "Missing Required
// Capabilities").
func MissingCapability() []byte {
	return []byte(`{"code":` + strconv.Itoa(upstream.CodeMissingClientCapability) +
		`,"message":"Missing required client capability: declare the extension ` + ExtensionID + `.","data":{"requiredCapabilities":{"extensions":{"` + ExtensionID + `":{}}}}}`)
}

// Task is a task object of an upstream server.
type Task struct {
	Form   Form
	ID     string
	Status string
	object *rawjson.Object
}

// Created returns the task that the result of tools/call reports, or nil.
func Created(response *upstream.Response) *Task {
	if response == nil || response.Result == nil {
		return nil
	}
	member := []byte(`"task"`)
	if !bytes.Contains(response.Result, member) {
		return nil
	}
	o, err := rawjson.ParseObject(response.Result, rawjson.Lenient)
	if err != nil {
		return nil
	}
	if response.Stateless {
		if typ, _ := o.String("resultType"); typ != "task" {
			return nil
		}
		return taskOf(Extension, o)
	}
	if o.Get("content") != nil {
		return nil
	}
	return taskOf(Core, o.Object("task"))
}

// taskOf returns the task in an object, or nil if it is not a task that can be
// named.
func taskOf(form Form, o *rawjson.Object) *Task {
	id, ok := o.String("taskId")
	if !ok || id == "" || len(id) > maxID {
		return nil
	}
	status, _ := o.String("status")
	return &Task{Form: form, ID: id, Status: status, object: o}
}

// IsDone reports whether the task has ended.
func (t *Task) IsDone() bool {
	switch t.Status {
	case "completed", "failed", "cancelled":
		return true
	}
	return false
}

func (t *Task) message() string {
	text, _ := t.object.String("statusMessage")
	return text
}

// pollInterval returns the time until the next request for the state of the task.
func (t *Task) pollInterval() time.Duration {
	name := "pollInterval"
	if t.Form == Extension {
		name = "pollIntervalMs"
	}
	ms, ok := number(t.object.Get(name))
	if !ok {
		return usualPoll
	}
	return min(max(time.Duration(ms)*time.Millisecond, minPoll), maxPoll)
}

// lifetime returns the time for which the server keeps the task, at most
// MaxLifetime.
func (t *Task) lifetime() time.Duration {
	name := "ttl"
	if t.Form == Extension {
		name = "ttlMs"
	}
	ms, ok := number(t.object.Get(name))
	if !ok || ms <= 0 || ms >= float64(MaxLifetime.Milliseconds()) {
		return MaxLifetime
	}
	return time.Duration(ms) * time.Millisecond
}

func number(raw []byte) (float64, bool) {
	if !rawjson.IsNumber(raw) {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	return n, err == nil && n >= 0 && n < 1e15
}

// state returns the raw object of the task with another id and without its result,
// for storage.
func (t *Task) state(handle string) string {
	o := t.object.Clone()
	for _, name := range []string{"result", "error", "inputRequests", "resultType", "_meta"} {
		o.Delete(name)
	}
	o.Set("taskId", rawjson.Quote(handle))
	return string(o.Bytes())
}

// Related returns raw params or a result whose _meta names the task by its handle.
func Related(raw []byte, handle string) []byte { return withRelated(raw, handle) }

// withRelated returns params or a result whose _meta names the task by its handle,
// or without that name if the handle is empty. Others are returned unchanged.
func withRelated(raw []byte, handle string) []byte {
	if !bytes.Contains(raw, []byte(metaRelated)) {
		return raw
	}
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return raw
	}
	meta := o.Object("_meta")
	if meta.Get(metaRelated) == nil {
		return raw
	}
	if handle != "" {
		meta.Set(metaRelated, append(rawjson.AppendString([]byte(`{"taskId":`), handle), '}'))
	} else {
		meta.Delete(metaRelated)
	}
	if meta.Len() == 0 {
		o.Delete("_meta")
	} else {
		o.Set("_meta", meta.Bytes())
	}
	return o.Bytes()
}
