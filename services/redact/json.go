// Package redact takes secrets out of what is kept for people to look at. It
// goes by the names of members and by what secrets look like, so it is a
// safeguard and no proof: what it does not know it does not find.
package redact

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

const (
	// maxNested bounds how deep JSON within the strings of JSON is looked into.
	maxNested = 4
	// maxDepth bounds the levels of one JSON value; deeper ones are left out.
	maxDepth = 256
)

// errCut ends the reading of a value of which enough was kept.
var errCut = errors.New("the value is longer than what is kept of it")

// JSON returns a JSON value without white space and without its secrets: the
// values of members whose names promise one, at any depth and also within
// strings that hold JSON themselves, and whatever in texts looks like one.
// Besides the usual names those of names are taken, in any case. At most limit
// bytes are returned; cut says that there was more, or that the rest could
// not be read.
func JSON(raw []byte, limit int, names []string) (text string, cut bool) {
	r := &reader{names: folded(names), limit: limit}
	r.open(raw)
	err := r.value(0)
	if len(r.out) > limit {
		r.out = trimmed(r.out, limit)
		err = errCut
	}
	return string(r.out), err != nil || r.cut
}

// reader copies one JSON value.
type reader struct {
	names  map[string]bool
	limit  int
	nested int // how many strings this value is within

	dec *jsontext.Decoder
	out []byte
	cut bool
}

func (r *reader) open(raw []byte) {
	r.dec = jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func (r *reader) value(depth int) error {
	if len(r.out) >= r.limit || depth > maxDepth {
		return errCut
	}
	switch r.dec.PeekKind() {
	case '{':
		return r.object(depth)
	case '[':
		return r.array(depth)
	case '"':
		token, err := r.dec.ReadToken()
		if err != nil {
			return err
		}
		r.text(token.String())
		return nil
	default:
		raw, err := r.dec.ReadValue()
		if err != nil {
			return err
		}
		r.out = append(r.out, raw...)
		return nil
	}
}

// object copies an object. Lists of named values, such as headers in the form
// {"name": …, "value": …}, name their secrets in a value.
func (r *reader) object(depth int) error {
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	r.out = append(r.out, '{')
	named := false
	for first := true; r.dec.PeekKind() != '}'; first = false {
		if !first {
			r.out = append(r.out, ',')
		}
		token, err := r.dec.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		r.text(name)
		r.out = append(r.out, ':')
		if r.secret(name) || named && holdsValue(name) {
			if err := r.dec.SkipValue(); err != nil {
				return err
			}
			r.out = append(r.out, `"`+Mark+`"`...)
			continue
		}
		if holdsName(name) && r.dec.PeekKind() == '"' {
			token, err := r.dec.ReadToken()
			if err != nil {
				return err
			}
			text := token.String()
			named = named || r.secret(text)
			r.text(text)
			continue
		}
		if err := r.value(depth + 1); err != nil {
			return err
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	r.out = append(r.out, '}')
	return nil
}

func (r *reader) array(depth int) error {
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	r.out = append(r.out, '[')
	for first := true; r.dec.PeekKind() != ']'; first = false {
		if !first {
			r.out = append(r.out, ',')
		}
		if err := r.value(depth + 1); err != nil {
			return err
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	r.out = append(r.out, ']')
	return nil
}

// text copies a string. One that is JSON is read as such; of any other so much
// is looked at as can be kept.
func (r *reader) text(s string) {
	room := max(r.limit-len(r.out), 0)
	if inner, ok := r.inner(s, room); ok {
		s = inner
	} else {
		if len(s) > room {
			s, r.cut = string(trimmed([]byte(s), room)), true
		}
		s = r.plain(s)
	}
	quoted, err := jsontext.AppendQuote(r.out, s)
	if err != nil {
		// Only invalid UTF-8 is refused, and it becomes valid.
		quoted, _ = jsontext.AppendQuote(r.out, string(bytes.ToValidUTF8([]byte(s), []byte("\uFFFD"))))
	}
	r.out = quoted
}

// inner returns what is kept of a string that holds a JSON object or array.
func (r *reader) inner(s string, room int) (text string, ok bool) {
	trimmedLeft := strings.TrimLeft(s, " \t\r\n")
	if r.nested >= maxNested || trimmedLeft == "" || trimmedLeft[0] != '{' && trimmedLeft[0] != '[' {
		return "", false
	}
	start := []byte(trimmedLeft)
	within := &reader{names: r.names, limit: room, nested: r.nested + 1}
	within.open(start)
	switch err := within.value(0); {
	case errors.Is(err, errCut):
		r.cut = true
		return string(trimmed(within.out, room)), true
	case err != nil:
		return "", false
	}
	if within.cut {
		r.cut = true
		return string(within.out), true
	}
	if rest := bytes.TrimSpace(start[within.dec.InputOffset():]); len(rest) > 0 {
		return "", false
	}
	return string(within.out), true
}

// trimmed returns at most limit bytes of b, without a broken character at the end.
func trimmed(b []byte, limit int) []byte {
	if len(b) <= limit {
		return b
	}
	for limit > 0 && !utf8.RuneStart(b[limit]) {
		limit--
	}
	return b[:limit]
}
