// Package schema reads JSON Schema, drafts 4 to 2020-12: it parses schemas with
// their order, resolves references and validates arguments. Size, depth and
// work are limited, and nothing is ever fetched.
package schema

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Node is one JSON value of a schema, with its members in order.
type Node struct {
	Kind    byte   // as in jsontext: { [ " 0 t f n
	Text    string // of a string, decoded; of a number, as written
	Members []Member
	Items   []*Node
	Raw     []byte // the JSON text
}

// Member is a member of an object.
type Member struct {
	Name  string
	Value *Node
}

// The errors of values beyond the limits.
var (
	ErrTooLarge = errors.New("schema is too large")
	ErrTooDeep  = errors.New("schema is nested too deeply")
)

// Parse parses one JSON value of at most MaxBytes. If names are repeated, the
// last member counts. An unpaired surrogate becomes U+FFFD.
func Parse(raw []byte) (*Node, error) { return ParseValue(raw, MaxBytes) }

// ParseValue parses one JSON value of at most limit bytes.
func ParseValue(raw []byte, limit int) (*Node, error) {
	if len(raw) > limit {
		return nil, ErrTooLarge
	}
	d := newDecoder(raw)
	n, err := readNode(d, raw, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return n, nil
}

func newDecoder(raw []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func readNode(d *jsontext.Decoder, raw []byte, depth int) (*Node, error) {
	if depth > MaxNesting {
		return nil, ErrTooDeep
	}
	begin := d.InputOffset()
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &Node{Kind: byte(token.Kind())}
	switch n.Kind {
	case '"', '0':
		n.Text = token.String()
	case '[':
		for d.PeekKind() != ']' {
			item, err := readNode(d, raw, depth+1)
			if err != nil {
				return nil, err
			}
			n.Items = append(n.Items, item)
		}
		_, err = d.ReadToken()
	case '{':
		err = n.readMembers(d, raw, depth)
	}
	n.Raw = bytes.TrimLeft(raw[begin:d.InputOffset()], " \t\r\n,:") // without the separator before it
	return n, err
}

func (n *Node) readMembers(d *jsontext.Decoder, raw []byte, depth int) error {
	var at map[string]int // only for objects so large that a search would be slow
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		text := name.String()
		value, err := readNode(d, raw, depth+1)
		if err != nil {
			return err
		}
		i, seen := n.find(text, at)
		if seen {
			n.Members[i].Value = value
			continue
		}
		n.Members = append(n.Members, Member{text, value})
		if at != nil {
			at[text] = i
		} else if len(n.Members) > 16 {
			at = make(map[string]int, 64)
			for i, m := range n.Members {
				at[m.Name] = i
			}
		}
	}
	_, err := d.ReadToken()
	return err
}

// find returns the index of a member, or the index that a new one would get.
func (n *Node) find(name string, at map[string]int) (int, bool) {
	if at != nil {
		if i, ok := at[name]; ok {
			return i, true
		}
		return len(n.Members), false
	}
	for i := range n.Members {
		if n.Members[i].Name == name {
			return i, true
		}
	}
	return len(n.Members), false
}

// Get returns the member called name, or nil. A nil node has no members.
func (n *Node) Get(name string) *Node {
	if n == nil {
		return nil
	}
	if i, ok := n.find(name, nil); ok {
		return n.Members[i].Value
	}
	return nil
}

// Has reports whether there is a member called name.
func (n *Node) Has(name string) bool { return n.Get(name) != nil }

// Is reports whether the node is of a kind. A nil node has no kind.
func (n *Node) Is(kind byte) bool { return n != nil && n.Kind == kind }

// ObjectOf returns the member called name if it is an object, else nil.
func (n *Node) ObjectOf(name string) *Node {
	if m := n.Get(name); m.Is('{') {
		return m
	}
	return nil
}

// ListOf returns the elements of the member called name if it is an array.
func (n *Node) ListOf(name string) []*Node {
	if m := n.Get(name); m.Is('[') {
		return m.Items
	}
	return nil
}

// StringOf returns the member called name if it is a string, else "".
func (n *Node) StringOf(name string) string {
	if m := n.Get(name); m.Is('"') {
		return m.Text
	}
	return ""
}

// StringsOf returns the strings in the member called name.
func (n *Node) StringsOf(name string) []string {
	var out []string
	for _, item := range n.ListOf(name) {
		if item.Kind == '"' {
			out = append(out, item.Text)
		}
	}
	return out
}

// Types returns the names in the keyword type, or nil without that keyword.
func (n *Node) Types() []string {
	if t := n.StringOf("type"); t != "" {
		return []string{t}
	}
	return n.StringsOf("type")
}

// isSchema reports whether the node's type allows it to be a schema.
func (n *Node) isSchema() bool { return n.Is('{') || n.Is('t') || n.Is('f') }

// All returns the members of a node, or none for nil.
func (n *Node) All() []Member {
	if n == nil {
		return nil
	}
	return n.Members
}

// CountOf returns the member called name as a count.
func (n *Node) CountOf(name string) (int, bool) {
	m := n.Get(name)
	if !m.Is('0') {
		return 0, false
	}
	f, err := strconv.ParseFloat(m.Text, 64)
	if err != nil || f < 0 || f > 1e9 {
		return 0, false
	}
	return int(f), true
}

// boundOf returns the member called name as a count, or nil.
func (n *Node) boundOf(name string) *int {
	if count, ok := n.CountOf(name); ok {
		return &count
	}
	return nil
}

// NumberOf returns the member called name as a number, or nil.
func (n *Node) NumberOf(name string) *float64 {
	m := n.Get(name)
	if !m.Is('0') {
		return nil
	}
	f, err := strconv.ParseFloat(m.Text, 64)
	if err != nil {
		return nil
	}
	return &f
}

// float returns the value of a number.
func (n *Node) float() float64 {
	f, _ := strconv.ParseFloat(n.Text, 64)
	return f
}

// plain returns the value in the library's representation.
func (n *Node) plain() any {
	switch n.Kind {
	case '"':
		return n.Text
	case '0':
		f, err := strconv.ParseFloat(n.Text, 64)
		if err != nil { // outside the range of a double
			return n.Text
		}
		return f
	case 't', 'f':
		return n.Kind == 't'
	case '[':
		out := make([]any, len(n.Items))
		for i, item := range n.Items {
			out[i] = item.plain()
		}
		return out
	case '{':
		out := make(map[string]any, len(n.Members))
		for _, m := range n.Members {
			out[m.Name] = m.Value.plain()
		}
		return out
	}
	return nil
}

// AdmitsObject reports whether the types of a schema include objects.
func (n *Node) AdmitsObject() bool {
	types := n.Types()
	return len(types) == 0 || slices.Contains(types, "object")
}

// LiteralsOf returns the values that enum or const allow.
func LiteralsOf(n *Node) (values []*Node, ok bool) {
	if value := n.Get("const"); value != nil {
		return []*Node{value}, true
	}
	if enum := n.Get("enum"); enum.Is('[') {
		return enum.Items, true
	}
	return nil, false
}

// Admits reports whether a value has one of the types.
func Admits(types []string, v *Node) bool {
	return slices.ContainsFunc(types, func(name string) bool {
		switch name {
		case "string":
			return v.Is('"')
		case "number", "integer":
			return v.Is('0')
		case "boolean":
			return v.Is('t') || v.Is('f')
		case "null":
			return v.Is('n')
		case "array":
			return v.Is('[')
		case "object":
			return v.Is('{')
		}
		return true
	})
}
