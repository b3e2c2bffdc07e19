// Package rawjson reads and edits JSON without decoding it. What is not
// touched keeps its bytes: key order, white space, number spelling, unknown
// fields. Requests and results pass through the gateway in this form only.
package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
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
}

// pooledDecoder keeps a decoder together with the buffer it reads from, so
// that parsing small messages allocates neither.
type pooledDecoder struct {
	jsontext.Decoder
	source bytes.Buffer
}

var decoders = sync.Pool{New: func() any { return new(pooledDecoder) }}

// withDecoder runs read over a pooled decoder of raw.
func withDecoder(raw []byte, mode Mode, read func(*jsontext.Decoder) error) error {
	p := decoders.Get().(*pooledDecoder)
	defer decoders.Put(p)
	p.source = *bytes.NewBuffer(raw)
	p.Reset(&p.source, jsontext.AllowDuplicateNames(mode == Lenient))
	err := read(&p.Decoder)
	// The pool must not keep the caller's bytes alive.
	p.source = bytes.Buffer{}
	p.Reset(&p.source)
	return err
}

// decodeName returns the decoded text of a quoted name.
func decodeName(quoted []byte) ([]byte, error) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1 : len(quoted)-1], nil
	}
	return jsontext.AppendUnquote(nil, quoted)
}

// ParseObject splits raw, which must hold exactly one valid JSON object in
// UTF-8. The object keeps raw; the caller must not change it afterwards.
func ParseObject(raw []byte, mode Mode) (*Object, error) {
	o := &Object{raw: raw, members: make([]member, 0, 8)}
	err := withDecoder(raw, mode, func(d *jsontext.Decoder) error {
		if k := d.PeekKind(); k != '{' {
			if _, err := d.ReadToken(); err != nil {
				return err
			}
			return fmt.Errorf("expected a JSON object, found %s", kindName(k))
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		prev := int(d.InputOffset())
		for d.PeekKind() != '}' {
			quoted, err := d.ReadValue()
			if err != nil {
				return err
			}
			end := int(d.InputOffset())
			m := member{start: prev}
			if m.name, err = decodeName(raw[end-len(quoted) : end]); err != nil {
				return err
			}
			v, err := d.ReadValue()
			if err != nil {
				return err
			}
			m.end = int(d.InputOffset())
			m.valueStart = m.end - len(v)
			m.value = raw[m.valueStart:m.end:m.end]
			prev = m.end
			o.members = append(o.members, m)
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		return expectEnd(d)
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// Elements returns the raw elements of raw, which must hold exactly one valid
// JSON array in UTF-8.
func Elements(raw []byte, mode Mode) ([][]byte, error) {
	var out [][]byte
	err := withDecoder(raw, mode, func(d *jsontext.Decoder) error {
		if k := d.PeekKind(); k != '[' {
			if _, err := d.ReadToken(); err != nil {
				return err
			}
			return fmt.Errorf("expected a JSON array, found %s", kindName(k))
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		for d.PeekKind() != ']' {
			v, err := d.ReadValue()
			if err != nil {
				return err
			}
			end := int(d.InputOffset())
			out = append(out, raw[end-len(v):end:end])
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		return expectEnd(d)
	})
	return out, err
}

// Valid reports with a nil error that raw holds exactly one JSON value.
func Valid(raw []byte, mode Mode) error {
	return withDecoder(raw, mode, func(d *jsontext.Decoder) error {
		if err := d.SkipValue(); err != nil {
			return err
		}
		return expectEnd(d)
	})
}

func expectEnd(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err == nil {
		return errors.New("unexpected data after the JSON value")
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// CheckDepth returns ErrTooDeep when raw nests arrays and objects beyond max
// levels. It does not need raw to be valid.
func CheckDepth(raw []byte, max int) error {
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

// String returns the decoded JSON string raw; ok is false for any other value.
func String(raw []byte) (s string, ok bool) {
	if Kind(raw) != '"' {
		return "", false
	}
	b, err := jsontext.AppendUnquote(nil, bytes.TrimSpace(raw))
	if err != nil {
		return "", false
	}
	return string(b), true
}

// AppendString appends s as a JSON string; invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil { // only invalid UTF-8 fails, and it is replaced in out
		out, _ = jsontext.AppendQuote(dst, string(bytes.ToValidUTF8([]byte(s), []byte("\uFFFD"))))
	}
	return out
}

// Quote returns s as a JSON string.
func Quote(s string) []byte { return AppendString(nil, s) }

func kindName(k jsontext.Kind) string {
	if k == 0 {
		return "nothing"
	}
	return k.String()
}
