// Package rawjson reads and edits JSON without decoding it. Unmodified parts
// keep their bytes: key order, white space, number spelling and unknown fields.
// Requests and results pass through the gateway only in this form.
package rawjson

import (
	"bytes"
	"errors"
	"iter"
	"math"
	"slices"
)

// Mode is the handling of duplicate member names.
type Mode uint8

const (
	// Strict rejects duplicate names. It is for input from clients: readers
	// that choose different duplicates are a security risk.
	Strict Mode = iota
	// Lenient accepts duplicates. It is for upstream responses, which are
	// forwarded unchanged.
	Lenient
)

// ErrTooDeep is returned for a value nested too deeply.
var ErrTooDeep = errors.New("JSON value nested too deeply")

// member is a member of an object, as ranges of the object's bytes. The range
// from start to valueStart contains the separator, the name and the colon.
type member struct {
	name       []byte // decoded; a range of raw if nothing is escaped
	value      []byte // current value: a range of raw, or a replacement
	start      int32  // end of the previous member or of the opening brace
	valueStart int32
	end        int32
	added      bool // not in raw
	deleted    bool
}

// Object is a JSON object split into its members. Names are decoded and
// case-sensitive; values stay raw. It has no pointers into itself, so an Object
// that doesn't escape needs no allocation.
type Object struct {
	raw     []byte
	few     [5]member // the first members
	rest    []member  // the rest
	count   int       // including deleted ones
	changed bool
}

// maxObject is the maximum length of an object's text in bytes.
const maxObject = math.MaxInt32

// Clone returns a copy. Edits of the copy don't change the object.
func (o *Object) Clone() Object {
	c := *o
	c.rest = slices.Clone(o.rest)
	return c
}

// at returns the member at index i.
func (o *Object) at(i int) *member {
	if i < len(o.few) {
		return &o.few[i]
	}
	return &o.rest[i-len(o.few)]
}

// push appends an empty member and returns it.
func (o *Object) push() *member {
	o.count++
	if o.count > len(o.few) {
		o.rest = append(o.rest, member{})
	}
	return o.at(o.count - 1)
}

// ParseObject parses raw, which must be exactly one valid JSON object in UTF-8
// of less than 2 GiB. The object retains raw, which must not be modified
// afterwards. It returns ErrTooDeep beyond 10,000 levels, and otherwise an
// error with the position of the problem.
func ParseObject(raw []byte, mode Mode) (*Object, error) {
	return new(Object).parse(raw, mode) // short enough to be inlined, so that the object can stay on the caller's stack
}

func (o *Object) parse(raw []byte, mode Mode) (*Object, error) {
	if len(raw) > maxObject {
		return nil, errors.New("JSON object too large")
	}
	o.raw = raw
	s := scan(raw, mode)
	defer s.release()
	i, empty, err := s.into('{')
	if err != nil {
		return nil, err
	}
	for prevEnd, more := i, !empty; more; {
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
		m.start, m.valueStart, m.end = int32(prevEnd), int32(valueStart), int32(end)
		prevEnd = end
		if more, i, err = s.more(end, '{'); err != nil {
			return nil, err
		}
	}
	if err := s.end(i); err != nil {
		return nil, err
	}
	return o, nil
}

// Elements returns the raw elements of raw, which must be exactly one valid
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

// Valid returns nil if raw is exactly one JSON value, and otherwise the errors
// of ParseObject.
func Valid(raw []byte, mode Mode) error {
	s := scan(raw, mode)
	defer s.release()
	end, err := s.value(0)
	if err != nil {
		return err
	}
	return s.end(end)
}

// CheckDepth returns ErrTooDeep if raw nests arrays and objects beyond max
// levels. raw need not be valid.
func CheckDepth(raw []byte, max int) error {
	// Few brackets in total can't exceed the depth.
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

// Get returns the raw value of the member called name, or nil. With duplicates
// it returns the last one.
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

// String returns the decoded string member called name. ok is false if it is
// absent or not a string.
func (o *Object) String(name string) (s string, ok bool) { return String(o.Get(name)) }

// Object returns the member called name as an object, or nil if it is absent or
// not an object.
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

// RawLen returns the length of the parsed text in bytes.
func (o *Object) RawLen() int { return len(o.raw) }

// Names returns the member names in order of appearance.
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

// All yields the decoded names and raw values of the members in order of
// appearance.
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

// Set sets the raw value of the member called name. A new member is appended.
// Earlier duplicates are removed.
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

// Bytes returns the object with its edits. Without edits it returns the parsed
// slice.
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

// AppendWith appends the object with its edits and one more member to dst. The
// object must not have a member of that name. It is not modified.
func (o *Object) AppendWith(dst []byte, name string, value []byte) []byte {
	dst, tail := o.appendMembers(dst)
	if o.Len() > 0 {
		dst = append(dst, ',')
	}
	dst = append(AppendString(dst, name), ':')
	return append(append(dst, value...), o.raw[tail:]...)
}

// appendMembers appends the object up to its last member and returns the index
// in raw at which the rest starts.
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
			case first && comma >= 0: // all previous members were deleted
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

// Kind returns the first byte that is not white space: '{', '[', '"', 't', 'f',
// 'n', a digit or '-'. It returns 0 for an empty value.
func Kind(raw []byte) byte {
	for _, c := range raw {
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
	}
	return 0
}

// IsNumber reports whether raw, a valid JSON value, is a number.
func IsNumber(raw []byte) bool {
	k := Kind(raw)
	return k == '-' || '0' <= k && k <= '9'
}
