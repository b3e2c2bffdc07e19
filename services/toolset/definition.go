package toolset

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	"mcpgateway/services/legacy"
	"mcpgateway/services/rawjson"
)

// HashDefinition returns the SHA-256 of a raw tool definition in hexadecimal.
// Approvals and comparisons use it.
func HashDefinition(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// exportDefinition returns the definition for clients: the upstream's bytes
// with the exported name.
func exportDefinition(definition *rawjson.Object, name string) []byte {
	definition.Set("name", rawjson.Quote(name))
	return definition.Bytes()
}

// isRepeatable reports whether a tool's annotations declare it read-only or
// idempotent (MCP 2025-03-26, "ToolAnnotations").
func isRepeatable(annotations *rawjson.Object) bool {
	return rawjson.Kind(annotations.Get("readOnlyHint")) == 't' || rawjson.Kind(annotations.Get("idempotentHint")) == 't'
}

// TaskSupport describes whether a tool can run as a task (MCP 2025-11-25, "Tasks").
type TaskSupport string

// The values of execution.taskSupport. Without one it is TasksForbidden.
const (
	TasksForbidden TaskSupport = ""
	TasksOptional  TaskSupport = "optional"
	TasksRequired  TaskSupport = "required"
)

// TaskSupportOf returns the task support in the raw definition of a tool.
func TaskSupportOf(raw []byte) TaskSupport {
	if !bytes.Contains(raw, []byte(`"taskSupport"`)) {
		return TasksForbidden
	}
	definition, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return TasksForbidden
	}
	support, _ := definition.Object("execution").String("taskSupport")
	if s := TaskSupport(support); s == TasksOptional || s == TasksRequired {
		return s
	}
	return TasksForbidden
}

// relaxTasks lists a tool that can only run as a task as one that also runs
// otherwise: the gateway then waits for the task.
func relaxTasks(definition *rawjson.Object) {
	execution := definition.Object("execution")
	if support, _ := execution.String("taskSupport"); TaskSupport(support) == TasksRequired {
		execution.Set("taskSupport", rawjson.Quote(string(TasksOptional)))
		definition.Set("execution", execution.Bytes())
	}
}

// Hints are the annotations of a tool with the protocol's defaults (MCP
// 2025-03-26 and later, ToolAnnotations): a tool without them may write and
// destroy, and a read-only tool never destroys.
type Hints struct{ ReadOnly, Destructive bool }

func hintsOf(annotations *rawjson.Object) Hints {
	readOnly := rawjson.Kind(annotations.Get("readOnlyHint")) == 't'
	return Hints{ReadOnly: readOnly, Destructive: !readOnly && rawjson.Kind(annotations.Get("destructiveHint")) != 'f'}
}

// Access returns the effect of a tool with the hints.
func (h Hints) Access() Access {
	switch {
	case h.ReadOnly:
		return AccessRead
	case h.Destructive:
		return AccessDestructive
	}
	return AccessWrite
}

// Access is the annotated effect of a tool.
type Access string

// The effects of tools. A tool without annotations may write.
const (
	AccessRead        Access = "read"
	AccessWrite       Access = "write"
	AccessDestructive Access = "destructive"
)

// AccessOf returns the effect of the tool with a raw definition. Unlike the
// protocol's defaults, only an explicit destructiveHint makes a tool
// destructive, because most tools have no annotations.
func AccessOf(raw []byte) Access {
	definition, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return AccessWrite
	}
	return accessOf(definition.Object("annotations"))
}

func accessOf(annotations *rawjson.Object) Access {
	switch {
	case rawjson.Kind(annotations.Get("readOnlyHint")) == 't':
		return AccessRead
	case rawjson.Kind(annotations.Get("destructiveHint")) == 't':
		return AccessDestructive
	}
	return AccessWrite
}

// forHandshake returns the definition for clients of revisions up to 2025-11-25,
// or nil if it needs no change. Those revisions only have output schemas of
// objects, and their clients reject the whole list for another one. It is wrapped
// in the schema of an object, or removed if it is nested too deeply.
func forHandshake(exported []byte) (definition []byte, wraps bool) {
	o, err := rawjson.ParseObject(exported, rawjson.Lenient)
	if err != nil {
		return nil, false
	}
	schema := o.Get("outputSchema")
	if schema == nil || legacy.IsObjectSchema(schema) {
		return nil, false
	}
	wrapped, ok := legacy.WrapSchema(schema)
	if !ok {
		o.Delete("outputSchema")
		return o.Bytes(), false
	}
	o.Set("outputSchema", wrapped)
	return o.Bytes(), true
}
