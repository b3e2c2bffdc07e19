// Package rawjson reads and edits JSON without decoding it. What is not
// touched keeps its bytes: key order, white space, number spelling, unknown
// fields. Requests and results pass through the gateway in this form only.
package rawjson

import (
	"bytes"
	"errors"
	"iter"
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
	start      int    // the end of the previous member, or just behind the brace
	valueStart int
	end        int
	value      []byte // the current value: a range of raw, or a replacement
	deleted    bool
}

// Object is one JSON object, split into its members. Names are decoded and
// compared exactly (case-sensitive); values stay raw.
type Object struct {
	raw     []byte
	members []member
	added   []member
	changed bool
	few     [5]member // the members, when they are so few
}

// ParseObject splits raw, which must hold exactly one valid JSON object in
// UTF-8. The object keeps raw; the caller must not change it afterwards. It
// returns ErrTooDeep beyond 10,000 levels, and for everything else that is
// wrong an error that says where.
func ParseObject(raw []byte, mode Mode) (*Object, error) {
	s := scan(raw, mode)
	defer s.release()
	i, empty, err := s.into('{')
	if err != nil {
		return nil, err
	}
	o := &Object{raw: raw}
	o.members = o.few[:0]
	for behind, more := i, !empty; more; {
		m := member{start: behind}
		quoted, next, err := s.name(s.space(i))
		if err != nil {
			return nil, err
		}
		m.name = unquotedName(quoted)
		m.valueStart = s.space(next)
		if m.end, err = s.value(m.valueStart); err != nil {
			return nil, err
		}
		m.value = raw[m.valueStart:m.end:m.end]
		o.members = append(o.members, m)
		behind = m.end
		if more, i, err = s.more(m.end, '{'); err != nil {
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
	for i := len(o.added) - 1; i >= 0; i-- {
		if string(o.added[i].name) == name {
			return o.added[i].value
		}
	}
	for i := len(o.members) - 1; i >= 0; i-- {
		if m := &o.members[i]; string(m.name) == name && !m.deleted {
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

// Names returns the member names in their order of appearance.
func (o *Object) Names() []string {
	if o == nil {
		return nil
	}
	names := make([]string, 0, len(o.members)+len(o.added))
	for i := range o.members {
		if !o.members[i].deleted {
			names = append(names, string(o.members[i].name))
		}
	}
	for i := range o.added {
		names = append(names, string(o.added[i].name))
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
		for i := range o.members {
			if m := &o.members[i]; !m.deleted && !yield(string(m.name), m.value) {
				return
			}
		}
		for i := range o.added {
			if !yield(string(o.added[i].name), o.added[i].value) {
				return
			}
		}
	}
}

// Set gives the member called name the raw value; a new member stands last.
// With duplicates every earlier one is removed, so readers cannot disagree.
func (o *Object) Set(name string, value []byte) {
	o.changed = true
	last := -1
	for i := range o.members {
		if string(o.members[i].name) == name && !o.members[i].deleted {
			if last >= 0 {
				o.members[last].deleted = true
			}
			last = i
		}
	}
	if last >= 0 {
		o.members[last].value = value
		return
	}
	for i := range o.added {
		if string(o.added[i].name) == name {
			o.added[i].value = value
			return
		}
	}
	o.added = append(o.added, member{name: []byte(name), value: value})
}

// Delete removes every member called name and reports whether there was one.
func (o *Object) Delete(name string) bool {
	found := false
	for i := range o.members {
		if m := &o.members[i]; string(m.name) == name && !m.deleted {
			m.deleted, found, o.changed = true, true, true
		}
	}
	for i := range o.added {
		if string(o.added[i].name) == name {
			o.added = append(o.added[:i:i], o.added[i+1:]...)
			return true
		}
	}
	return found
}

// Len returns the number of members.
func (o *Object) Len() int {
	n := len(o.added)
	for i := range o.members {
		if !o.members[i].deleted {
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
	open := bytes.IndexByte(o.raw, '{') + 1
	dst = append(dst, o.raw[:open]...)
	first, tail := true, open
	for i := range o.members {
		m := &o.members[i]
		tail = m.end
		if m.deleted {
			continue
		}
		lead := o.raw[m.start:m.valueStart]
		comma := bytes.IndexByte(lead[:bytes.IndexByte(lead, '"')], ',')
		switch {
		case first && comma >= 0: // its predecessors were deleted
			lead = lead[comma+1:]
		case !first && comma < 0:
			dst = append(dst, ',')
		}
		dst = append(dst, lead...)
		dst = append(dst, m.value...)
		first = false
	}
	for i := range o.added {
		if !first {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, string(o.added[i].name))
		dst = append(dst, ':')
		dst = append(dst, o.added[i].value...)
		first = false
	}
	return append(dst, o.raw[tail:]...)
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
