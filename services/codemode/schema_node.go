package codemode

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// schemaNode is one JSON value of a schema, with its members in order.
type schemaNode struct {
	kind    byte   // of jsontext: { [ " 0 t f n
	text    string // of a string, decoded; of a number, as written
	members []schemaMember
	items   []*schemaNode
	size    int // bytes of its JSON
}

type schemaMember struct {
	name  string
	value *schemaNode
}

var (
	errSchemaTooLarge = errors.New("the schema is too large")
	errSchemaTooDeep  = errors.New("the schema is nested too deeply")
)

// parseSchema reads one JSON value of at most MaxSchemaBytes. Of members with
// the same name the last one counts. Half of a surrogate pair becomes U+FFFD.
func parseSchema(raw []byte) (*schemaNode, error) { return parseValue(raw, MaxSchemaBytes) }

// parseValue reads one JSON value of at most limit bytes.
func parseValue(raw []byte, limit int) (*schemaNode, error) {
	if len(raw) > limit {
		return nil, errSchemaTooLarge
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	n, err := readNode(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one JSON value")
	}
	return n, nil
}

func readNode(d *jsontext.Decoder, depth int) (*schemaNode, error) {
	if depth > MaxNesting {
		return nil, errSchemaTooDeep
	}
	begin := d.InputOffset()
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &schemaNode{kind: byte(token.Kind())}
	switch n.kind {
	case '"', '0':
		n.text = token.String()
	case '[':
		for d.PeekKind() != ']' {
			item, err := readNode(d, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
		_, err = d.ReadToken()
	case '{':
		err = n.readMembers(d, depth)
	}
	n.size = int(d.InputOffset() - begin)
	return n, err
}

func (n *schemaNode) readMembers(d *jsontext.Decoder, depth int) error {
	var at map[string]int // only kept for objects in which a search would be slow
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		text := name.String()
		value, err := readNode(d, depth+1)
		if err != nil {
			return err
		}
		i, seen := n.find(text, at)
		if seen {
			n.members[i].value = value
			continue
		}
		n.members = append(n.members, schemaMember{text, value})
		if at != nil {
			at[text] = i
		} else if len(n.members) > 16 {
			at = make(map[string]int, 64)
			for i, m := range n.members {
				at[m.name] = i
			}
		}
	}
	_, err := d.ReadToken()
	return err
}

// find returns the place of a member, or the place that a new one would get.
func (n *schemaNode) find(name string, at map[string]int) (int, bool) {
	if at != nil {
		if i, ok := at[name]; ok {
			return i, true
		}
		return len(n.members), false
	}
	for i := range n.members {
		if n.members[i].name == name {
			return i, true
		}
	}
	return len(n.members), false
}

// get returns the member called name, or nil. A nil node has no members.
func (n *schemaNode) get(name string) *schemaNode {
	if n == nil {
		return nil
	}
	if i, ok := n.find(name, nil); ok {
		return n.members[i].value
	}
	return nil
}

func (n *schemaNode) has(name string) bool { return n.get(name) != nil }

// is reports whether the node is of a kind; nil is of none.
func (n *schemaNode) is(kind byte) bool { return n != nil && n.kind == kind }

// object returns the member called name if it is an object, else nil.
func (n *schemaNode) object(name string) *schemaNode {
	if m := n.get(name); m.is('{') {
		return m
	}
	return nil
}

// list returns the elements of the member called name if it is an array.
func (n *schemaNode) list(name string) []*schemaNode {
	if m := n.get(name); m.is('[') {
		return m.items
	}
	return nil
}

// string returns the member called name if it is a string, else "".
func (n *schemaNode) string(name string) string {
	if m := n.get(name); m.is('"') {
		return m.text
	}
	return ""
}

// strings returns the strings in the member called name.
func (n *schemaNode) strings(name string) []string {
	var out []string
	for _, item := range n.list(name) {
		if item.kind == '"' {
			out = append(out, item.text)
		}
	}
	return out
}

// types returns the names in the keyword type; nil when it says nothing.
func (n *schemaNode) types() []string {
	if t := n.string("type"); t != "" {
		return []string{t}
	}
	return n.strings("type")
}

// isSchema reports whether the node can be a schema at all.
func (n *schemaNode) isSchema() bool { return n.is('{') || n.is('t') || n.is('f') }

func containsType(types []string, name string) bool {
	for _, t := range types {
		if t == name {
			return true
		}
	}
	return false
}

// all returns the members of a node, none for nil.
func (n *schemaNode) all() []schemaMember {
	if n == nil {
		return nil
	}
	return n.members
}

// count returns the member called name as a number of things.
func (n *schemaNode) count(name string) (int, bool) {
	m := n.get(name)
	if !m.is('0') {
		return 0, false
	}
	f, err := strconv.ParseFloat(m.text, 64)
	if err != nil || f < 0 || f > 1e9 {
		return 0, false
	}
	return int(f), true
}

// bound returns the member called name as a number of things, or nil.
func (n *schemaNode) bound(name string) *int {
	if count, ok := n.count(name); ok {
		return &count
	}
	return nil
}

// number returns the member called name as a number, or nil.
func (n *schemaNode) number(name string) *float64 {
	m := n.get(name)
	if !m.is('0') {
		return nil
	}
	f, err := strconv.ParseFloat(m.text, 64)
	if err != nil {
		return nil
	}
	return &f
}

// float returns the value of a number.
func (n *schemaNode) float() float64 {
	f, _ := strconv.ParseFloat(n.text, 64)
	return f
}

// plain returns the value as the library reads it.
func (n *schemaNode) plain() any {
	switch n.kind {
	case '"':
		return n.text
	case '0':
		f, err := strconv.ParseFloat(n.text, 64)
		if err != nil { // beyond what a double holds
			return n.text
		}
		return f
	case 't':
		return true
	case 'f':
		return false
	case '[':
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = item.plain()
		}
		return out
	case '{':
		out := make(map[string]any, len(n.members))
		for _, m := range n.members {
			out[m.name] = m.value.plain()
		}
		return out
	}
	return nil
}

func (n *schemaNode) admitsObject() bool {
	types := n.types()
	return len(types) == 0 || containsType(types, "object")
}

// literalsOf returns the values that enum or const admit.
func literalsOf(n *schemaNode) (values []*schemaNode, ok bool) {
	if value := n.get("const"); value != nil {
		return []*schemaNode{value}, true
	}
	if enum := n.get("enum"); enum.is('[') {
		return enum.items, true
	}
	return nil, false
}

// admits reports whether a value has one of the types.
func admits(types []string, v *schemaNode) bool {
	return slices.ContainsFunc(types, func(name string) bool {
		switch name {
		case "string":
			return v.is('"')
		case "number", "integer":
			return v.is('0')
		case "boolean":
			return v.is('t') || v.is('f')
		case "null":
			return v.is('n')
		case "array":
			return v.is('[')
		case "object":
			return v.is('{')
		}
		return true
	})
}
