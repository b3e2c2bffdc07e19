// Package legacy converts tools and results for clients of revisions with a
// handshake, whose structured content is always an object.
package legacy

import (
	"bytes"
	"strings"

	"mcpgateway/services/rawjson"
)

// maxDepth is the maximum nesting of output schemas that are wrapped.
const maxDepth = 200

// place is the JSON pointer of the schema in its wrapper.
const place = "#/properties/result"

// IsObjectSchema reports whether all revisions accept an output schema as it is.
func IsObjectSchema(schema []byte) bool {
	o, err := rawjson.ParseObject(schema, rawjson.Lenient)
	if err != nil {
		return false
	}
	typ, _ := o.String("type")
	return typ == "object"
}

// WrapSchema returns the schema of an object whose only member is result, with
// the given schema, as the official SDKs do. References to parts of the schema
// are moved, and its dialect is that of the wrapper. ok is false for a schema
// that is nested too deeply.
func WrapSchema(schema []byte) (wrapped []byte, ok bool) {
	if rawjson.CheckDepth(schema, maxDepth) != nil {
		return nil, false
	}
	m := mover{}
	b := []byte(`{`)
	if root, err := rawjson.ParseObject(schema, rawjson.Lenient); err == nil {
		dialect, _ := root.String("$schema")
		m.recursive = strings.Contains(dialect, "/2019-09/") && rawjson.Kind(root.Get("$recursiveAnchor")) != 't'
		if dialect != "" {
			b = append(append(append(b, `"$schema":`...), root.Get("$schema")...), ',')
		}
	}
	if m.recursive || bytes.Contains(schema, []byte(`ef"`)) || bytes.Contains(schema, []byte(`\u`)) {
		schema = m.schema(schema)
	}
	b = append(append(b, `"type":"object","properties":{"result":`...), schema...)
	return append(b, `},"required":["result"]}`...), true
}

// mover moves the references of a schema.
type mover struct {
	// recursive reports whether $recursiveRef means the root of the schema.
	recursive bool
}

// schema returns a schema, or a list of schemas, with moved references. All
// other bytes are unchanged. Subschemas with an own URI are unchanged, because
// references in them start there.
func (m mover) schema(raw []byte) []byte {
	switch rawjson.Kind(raw) {
	case '[':
		return m.list(raw)
	case '{':
	default:
		return raw
	}
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return raw
	}
	if id := o.Get("$id"); id != nil {
		if text, isText := rawjson.String(id); !isText || !strings.HasPrefix(text, "#") {
			return raw
		}
	}
	changed := false
	for _, name := range o.Names() {
		value := o.Get(name)
		var moved []byte
		switch name {
		case "$ref", "$dynamicRef":
			moved = movedReference(value)
		case "const", "enum", "default", "examples": // data
			continue
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
			moved = m.named(value)
		default:
			moved = m.schema(value)
		}
		if !bytes.Equal(moved, value) {
			o.Set(name, moved)
			changed = true
		}
	}
	if m.recursive && rawjson.EqualString(o.Get("$recursiveRef"), "#") && o.Get("$ref") == nil {
		o.Delete("$recursiveRef")
		o.Set("$ref", rawjson.Quote(place))
		changed = true
	}
	if !changed {
		return raw
	}
	return o.Bytes()
}

// named moves the references in a map from names to schemas.
func (m mover) named(raw []byte) []byte {
	if rawjson.Kind(raw) != '{' {
		return raw
	}
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return raw
	}
	changed := false
	for _, name := range o.Names() {
		value := o.Get(name)
		if moved := m.schema(value); !bytes.Equal(moved, value) {
			o.Set(name, moved)
			changed = true
		}
	}
	if !changed {
		return raw
	}
	return o.Bytes()
}

func (m mover) list(raw []byte) []byte {
	elements, err := rawjson.Elements(raw, rawjson.Lenient)
	if err != nil {
		return raw
	}
	changed := false
	for i, element := range elements {
		if moved := m.schema(element); !bytes.Equal(moved, element) {
			elements[i], changed = moved, true
		}
	}
	if !changed {
		return raw
	}
	return append(append([]byte{'['}, bytes.Join(elements, []byte{','})...), ']')
}

// movedReference returns a reference into the schema with its new place.
// References to names and to other documents are unchanged.
func movedReference(raw []byte) []byte {
	text, ok := rawjson.String(raw)
	if !ok || text != "#" && !strings.HasPrefix(text, "#/") {
		return raw
	}
	return rawjson.Quote(place + text[1:])
}
