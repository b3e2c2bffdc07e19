// Package capabilities reads the capabilities objects that MCP clients declare,
// and decides what the gateway declares to servers on their behalf.
package capabilities

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"

	"mcpgateway/services/rawjson"
)

// The official extensions that the gateway relays.
const (
	UI     = "io.modelcontextprotocol/ui"
	Tasks  = "io.modelcontextprotocol/tasks"
	Skills = "io.modelcontextprotocol/skills"
)

// Sync are the capabilities of the gateway's own sessions: all that it relays
// for clients. Servers choose their tools by these capabilities, and one list
// serves all clients.
const Sync = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{"listChanged":true},` +
	`"extensions":{"` + UI + `":{"mimeTypes":["text/html;profile=mcp-app"]},"` + Tasks + `":{},"` + Skills + `":{}}}`

// requests are the capabilities for which servers send requests to the client.
func requests() []string { return []string{"elicitation", "sampling", "roots"} }

// Key identifies a capabilities object, whatever the order of its members. The
// zero key is that of an object without members.
type Key [sha256.Size]byte

// Identity are the properties of an object that sessions with a server depend on.
type Identity struct {
	Key Key
	// Interactive reports whether the server can send requests to the client.
	Interactive bool
}

// Identify returns the identity of a raw object. nil is an empty object.
func Identify(raw []byte) Identity {
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil || o.Len() == 0 {
		return Identity{}
	}
	id := Identity{Key: sha256.Sum256(sorted(raw))}
	for _, name := range requests() {
		kind := rawjson.Kind(o.Get(name))
		id.Interactive = id.Interactive || kind != 0 && kind != 'n'
	}
	return id
}

// sorted returns a JSON value with the members of all objects in order, or raw
// if it is invalid.
func sorted(raw []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return raw
	}
	out, err := json.Marshal(value) // sorts members
	if err != nil {
		return raw
	}
	return out
}

// IsEqual reports whether two JSON values are equal, whatever the order of the
// members of objects. An absent value equals none.
func IsEqual(a, b []byte) bool {
	return a != nil && b != nil && (bytes.Equal(a, b) || bytes.Equal(sorted(a), sorted(b)))
}

// Use describes the responses to a call that a client can handle.
type Use struct {
	// Interactive reports whether the client can receive requests during the call.
	Interactive bool
	// Tasks reports whether the result can be a task of the tasks extension.
	Tasks bool
}

// Calls are the objects that calls of one client declare.
type Calls struct{ byUse [4][]byte }

// ForCalls returns what calls of a client with the raw object declare: its own
// object, byte for byte, less core tasks, which are not relayed, and less what
// the use excludes.
func ForCalls(raw []byte) Calls {
	var c Calls
	for _, use := range []Use{{}, {Interactive: true}, {Tasks: true}, {Interactive: true, Tasks: true}} {
		c.byUse[use.index()] = reduce(raw, use)
	}
	return c
}

// Of returns the raw object for a use. It is nil for clients without
// capabilities. The caller must not modify it.
func (c Calls) Of(use Use) []byte { return c.byUse[use.index()] }

func (u Use) index() (i int) {
	if u.Interactive {
		i = 1
	}
	if u.Tasks {
		i += 2
	}
	return i
}

func reduce(raw []byte, use Use) []byte {
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return nil
	}
	changed := o.Delete("tasks")
	if !use.Interactive {
		for _, name := range requests() {
			changed = o.Delete(name) || changed
		}
	}
	if extensions := o.Object("extensions"); !use.Tasks && extensions.Get(Tasks) != nil {
		extensions.Delete(Tasks)
		if o.Set("extensions", extensions.Bytes()); extensions.Len() == 0 {
			o.Delete("extensions")
		}
		changed = true
	}
	if !changed {
		return raw
	}
	return o.Bytes()
}

// Shorten returns a raw object that has at most limit bytes, and the names of
// the members that were left out for it: first experimental, then the extensions
// that the gateway does not relay, then everything that is not relayed.
func Shorten(raw []byte, limit int) (short []byte, omitted []string) {
	if len(raw) <= limit {
		return raw, nil
	}
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return []byte("{}"), []string{"all"}
	}
	if o.Delete("experimental") {
		omitted = append(omitted, "experimental")
	}
	if extensions := o.Object("extensions"); len(o.Bytes()) > limit && extensions != nil {
		for _, name := range extensions.Names() {
			if name != UI && name != Tasks && name != Skills {
				extensions.Delete(name)
			}
		}
		o.Set("extensions", extensions.Bytes())
		omitted = append(omitted, "extensions")
	}
	if len(o.Bytes()) > limit {
		for _, name := range o.Names() {
			if name != "elicitation" && name != "sampling" && name != "roots" {
				o.Delete(name)
			}
		}
		omitted = append(omitted, "other members")
	}
	if len(o.Bytes()) > limit {
		return []byte("{}"), []string{"all"}
	}
	return o.Bytes(), omitted
}
