// Package rawjson reads and edits JSON without decoding it. What is not
// touched keeps its bytes: key order, white space, number spelling, unknown
// fields. Requests and results pass through the gateway in this form only.
package rawjson

import (
	"bytes"
	"errors"
	"iter"
	"math"
	"slices"
)

// Mode says how duplicate member names are met.
type Mode uint8

const (
	// Strict refuses duplicate names: for input from clients, where two
	// readers that pick different duplicates are a security hole.
	Strict Mode = iota
	// Lenient lets duplicates stand: for upstream answers, which are passed
	// on as they came.
	Lenient
)

// ErrTooDeep is returned for a value nested beyond the allowed depth.
var ErrTooDeep = errors.New("the JSON value is nested too deeply")

// member is one name and value of an object, as ranges of the object's bytes.
// The chunk from the previous member's end to valueStart holds the separator,
// the name and the colon.
type member struct {
	name       []byte // decoded; a range of raw when nothing is escaped
	value      []byte // the current value: a range of raw, or a replacement
	start      int32  // the end of the previous member, or just behind the brace
	valueStart int32
	end        int32
	added      bool // it has no place in raw
	deleted    bool
}

// Object is one JSON object, split into its members. Names are decoded and
// compared exactly (case-sensitive); values stay raw. It points nowhere into
// itself, so that one that its function keeps to itself needs no allocation.
type Object struct {
	raw     []byte
	few     [5]member // the first members
	rest    []member  // those behind them
	count   int       // of all, the deleted ones included
	changed bool
}

// maxObject is how long the text of an object may be, in bytes.
const maxObject = math.MaxInt32

// Clone returns a copy, whose edits do not show in the object.
func (o *Object) Clone() Object {
	c := *o
	c.rest = slices.Clone(o.rest)
	return c
}

// at returns the member at the place.
func (o *Object) at(i int) *member {
	if i < len(o.few) {
		return &o.few[i]
	}
	return &o.rest[i-len(o.few)]
}

// push makes room for one more member and returns it.
func (o *Object) push() *member {
	o.count++
	if o.count > len(o.few) {
		o.rest = append(o.rest, member{})
	}
	return o.at(o.count - 1)
}

// ParseObject splits raw, which must hold exactly one valid JSON object in
// UTF-8 of less than 2 GiB. The object keeps raw; the caller must not change it
// afterwards. It returns ErrTooDeep beyond 10,000 levels, and for everything
// else that is wrong an error that says where.
func ParseObject(raw []byte, mode Mode) (*Object, error) {
	return new(Object).parse(raw, mode) // short, to be compiled into its callers, whose stacks then hold the object
}

func (o *Object) parse(raw []byte, mode Mode) (*Object, error) {
	if len(raw) > maxObject {
		return nil, errors.New("the JSON object is too large")
	}
	o.raw = raw
	s := scan(raw, mode)
	defer s.release()
	i, empty, err := s.into('{')
	if err != nil {
		return nil, err
	}
	for behind, more := i, !empty; more; {
		quoted, next, err := s.name(s.space(i))
		if err != nil {
			return nil, err
		}
		valueStart := s.space(next)
		end, err := s.value(valueStart)
		if err != nil {
			return nil, err
		}
		m := o.push()
		m.name, m.value = unquotedName(quoted), raw[valueStart:end:end]
		m.start, m.valueStart, m.end = int32(behind), int32(valueStart), int32(end)
		behind = end
		if more, i, err = s.more(end, '{'); err != nil {
			return nil, err
		}
	}
	if err := s.end(i); err != nil {
		return nil, err
	}
	return o, nil
}

// Elements returns the raw elements of raw, which must hold exactly one valid
// JSON array in UTF-8. It returns the errors of ParseObject.
func Elements(raw []byte, mode Mode) ([][]byte, error) {
	s := scan(raw, mode)
	defer s.release()
	i, empty, err := s.into('[')
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for more := !empty; more; {
		start := s.space(i)
		end, err := s.value(start)
		if err != nil {
			return nil, err
		}
		out = append(out, raw[start:end:end])
		if more, i, err = s.more(end, '['); err != nil {
			return nil, err
		}
	}
	if err := s.end(i); err != nil {
		return nil, err
	}
	return out, nil
}

// Valid reports with a nil error that raw holds exactly one JSON value. It
// returns the errors of ParseObject.
func Valid(raw []byte, mode Mode) error {
	s := scan(raw, mode)
	defer s.release()
	end, err := s.value(0)
	if err != nil {
		return err
	}
	return s.end(end)
}

// CheckDepth returns ErrTooDeep when raw nests arrays and objects beyond max
// levels. It does not need raw to be valid.
func CheckDepth(raw []byte, max int) error {
	// What has few brackets in all needs no closer look.
	if bytes.Count(raw, []byte{'{'})+bytes.Count(raw, []byte{'['}) <= max {
		return nil
	}
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString:
			if c == '\\' {
				i++
			} else if c == '"' {
				inString = false
			}
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			if depth++; depth > max {
				return ErrTooDeep
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// Get returns the raw value of the member called name; with duplicates the
// last one. It returns nil when there is none.
func (o *Object) Get(name string) []byte {
	if o == nil {
		return nil
	}
	for i := o.count - 1; i >= 0; i-- {
		if m := o.at(i); string(m.name) == name && !m.deleted {
			return m.value
		}
	}
	return nil
}

// String returns the decoded string member called name; ok is false when it
// is absent or not a string.
func (o *Object) String(name string) (s string, ok bool) { return String(o.Get(name)) }

// Object returns the member called name as an object, or nil when it is
// absent or not an object.
func (o *Object) Object(name string) *Object {
	v := o.Get(name)
	if Kind(v) != '{' {
		return nil
	}
	inner, err := ParseObject(v, Lenient)
	if err != nil {
		return nil
	}
	return inner
}

// RawLen returns how long the text was that was parsed, in bytes.
func (o *Object) RawLen() int { return len(o.raw) }

// Names returns the member names in their order of appearance.
func (o *Object) Names() []string {
	if o == nil {
		return nil
	}
	names := make([]string, 0, o.count)
	for i := range o.count {
		if m := o.at(i); !m.deleted {
			names = append(names, string(m.name))
		}
	}
	return names
}

// All yields the members, their decoded names and raw values, in their order
// of appearance.
func (o *Object) All() iter.Seq2[string, []byte] {
	return func(yield func(name string, value []byte) bool) {
		if o == nil {
			return
		}
		for i := range o.count {
			if m := o.at(i); !m.deleted && !yield(string(m.name), m.value) {
				return
			}
		}
	}
}

// Set gives the member called name the raw value; a new member stands last.
// With duplicates every earlier one is removed, so readers cannot disagree.
func (o *Object) Set(name string, value []byte) {
	o.changed = true
	var last *member
	for i := range o.count {
		if m := o.at(i); string(m.name) == name && !m.deleted {
			if last != nil {
				last.deleted = true
			}
			last = m
		}
	}
	if last != nil {
		last.value = value
		return
	}
	m := o.push()
	m.name, m.value, m.added = []byte(name), value, true
}

// Delete removes every member called name and reports whether there was one.
func (o *Object) Delete(name string) bool {
	found := false
	for i := range o.count {
		if m := o.at(i); string(m.name) == name && !m.deleted {
			m.deleted, found, o.changed = true, true, true
		}
	}
	return found
}

// Len returns the number of members.
func (o *Object) Len() int {
	n := 0
	for i := range o.count {
		if !o.at(i).deleted {
			n++
		}
	}
	return n
}

// Bytes returns the object with its edits. Without edits it is the slice that
// was parsed.
func (o *Object) Bytes() []byte {
	if !o.changed {
		return o.raw
	}
	return o.AppendTo(make([]byte, 0, len(o.raw)+64))
}

// AppendTo appends the object with its edits to dst.
func (o *Object) AppendTo(dst []byte) []byte {
	if !o.changed {
		return append(dst, o.raw...)
	}
	dst, tail := o.appendMembers(dst)
	return append(dst, o.raw[tail:]...)
}

// AppendWith appends the object with its edits and one more member, which stands
// last, to dst. The object has no member of that name, and is not changed.
func (o *Object) AppendWith(dst []byte, name string, value []byte) []byte {
	dst, tail := o.appendMembers(dst)
	if o.Len() > 0 {
		dst = append(dst, ',')
	}
	dst = append(AppendString(dst, name), ':')
	return append(append(dst, value...), o.raw[tail:]...)
}

// appendMembers appends the object up to its last member, and returns where in
// the text of the object the rest begins.
func (o *Object) appendMembers(dst []byte) (_ []byte, tail int) {
	open := bytes.IndexByte(o.raw, '{') + 1
	dst = append(dst, o.raw[:open]...)
	first := true
	tail = open
	for i := range o.count {
		m := o.at(i)
		if !m.added {
			tail = int(m.end)
		}
		switch {
		case m.deleted:
			continue
		case m.added:
			if !first {
				dst = append(dst, ',')
			}
			dst = append(AppendString(dst, string(m.name)), ':')
		default:
			lead := o.raw[m.start:m.valueStart]
			comma := bytes.IndexByte(lead[:bytes.IndexByte(lead, '"')], ',')
			switch {
			case first && comma >= 0: // its predecessors were deleted
				lead = lead[comma+1:]
			case !first && comma < 0:
				dst = append(dst, ',')
			}
			dst = append(dst, lead...)
		}
		dst = append(dst, m.value...)
		first = false
	}
	return dst, tail
}

// Kind returns the first byte that is not white space: '{', '[', '"', 't',
// 'f', 'n', a digit or '-'; 0 for an empty value.
func Kind(raw []byte) byte {
	for _, c := range raw {
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
	}
	return 0
}

// IsNumber reports whether the valid JSON value raw is a number.
func IsNumber(raw []byte) bool {
	k := Kind(raw)
	return k == '-' || '0' <= k && k <= '9'
}
