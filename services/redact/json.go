// Package redact removes secrets from data stored for inspection. It recognizes
// them by member names and known formats. Redaction is best effort: unknown
// formats are not found.
package redact

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Placeholder replaces a secret.
const Placeholder = "[redacted]"

const (
	// maxNested is the maximum depth of JSON in strings of JSON.
	maxNested = 4
	// maxDepth is the maximum nesting of a JSON value. Deeper values are
	// omitted.
	maxDepth = 256
)

// errTruncated stops the reading of a value at the limit.
var errTruncated = errors.New("value exceeds the limit")

// JSON returns a JSON value without white space and secrets: the values of
// members with secret names, at any depth and in strings that contain JSON, and
// anything in texts that looks like a secret. names are additional secret
// names, case-insensitive. At most limit bytes are returned. cut reports
// whether the value was truncated, or the rest was invalid.
func JSON(raw []byte, limit int, names []string) (text string, cut bool) {
	r := &redactor{names: folded(names), limit: limit}
	r.open(raw)
	err := r.value(0)
	if len(r.out) > limit {
		r.out = trimmed(r.out, limit)
		err = errTruncated
	}
	return string(r.out), err != nil || r.cut
}

// redactor copies a JSON value.
type redactor struct {
	names  map[string]bool
	limit  int
	nested int // number of enclosing strings

	dec *jsontext.Decoder
	out []byte
	cut bool
}

func (r *redactor) open(raw []byte) {
	r.dec = jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func (r *redactor) value(depth int) error {
	if len(r.out) >= r.limit || depth > maxDepth {
		return errTruncated
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

// object copies an object. In lists of named values, such as headers of the
// form {"name": …, "value": …}, the name is the value of a member.
func (r *redactor) object(depth int) error {
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
			r.out = append(r.out, `"`+Placeholder+`"`...)
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

func (r *redactor) array(depth int) error {
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

// text copies a string. A string that is JSON is redacted as JSON. Other
// strings are processed up to the limit.
func (r *redactor) text(s string) {
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
		// Only invalid UTF-8 fails; it is replaced.
		quoted, _ = jsontext.AppendQuote(r.out, string(bytes.ToValidUTF8([]byte(s), []byte("\uFFFD"))))
	}
	r.out = quoted
}

// inner returns the redacted text of a string that contains a JSON object or
// array.
func (r *redactor) inner(s string, room int) (text string, ok bool) {
	trimmedLeft := strings.TrimLeft(s, " \t\r\n")
	if r.nested >= maxNested || trimmedLeft == "" || trimmedLeft[0] != '{' && trimmedLeft[0] != '[' {
		return "", false
	}
	start := []byte(trimmedLeft)
	within := &redactor{names: r.names, limit: room, nested: r.nested + 1}
	within.open(start)
	switch err := within.value(0); {
	case errors.Is(err, errTruncated):
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

// trimmed returns at most limit bytes of b, without a partial character at the
// end.
func trimmed(b []byte, limit int) []byte {
	if len(b) <= limit {
		return b
	}
	for limit > 0 && !utf8.RuneStart(b[limit]) {
		limit--
	}
	return b[:limit]
}
