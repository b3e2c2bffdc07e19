package rawjson

import (
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"
)

// maxNesting is the maximum nesting of arrays and objects. Callers with a lower
// limit call CheckDepth first.
const maxNesting = 10_000

// scanner validates JSON text (RFC 8259) in one pass and finds where values
// start and end. It decodes only names with escapes.
type scanner struct {
	raw      []byte
	strict   bool     // duplicate names are rejected
	open     []level  // enclosing arrays and objects
	names    [][]byte // decoded names of the open objects; only if strict
	maxNames int      // peak length of names
}

// level is an open array or object.
type level struct {
	kind  byte // '[' or '{'
	first int  // index of its first name in scanner.names
	index *nameIndex
}

// Capacities that a pooled scanner retains. Most requests need less.
const (
	keptLevels = 64
	keptNames  = 64
)

// scanners are pooled, so that scanning allocates nothing.
var scanners = sync.Pool{New: func() any {
	return &scanner{open: make([]level, 0, keptLevels), names: make([][]byte, 0, keptNames)}
}}

// scan returns a scanner of raw, which must be released.
func scan(raw []byte, mode Mode) *scanner {
	s := scanners.Get().(*scanner)
	s.raw, s.strict = raw, mode == Strict
	return s
}

// release drops the caller's bytes and the capacity that a large text needed,
// and returns the scanner to the pool.
func (s *scanner) release() {
	if cap(s.open) > keptLevels || cap(s.names) > keptNames {
		return
	}
	clear(s.open)
	clear(s.names[:s.maxNames])
	s.raw, s.open, s.names, s.maxNames = nil, s.open[:0], s.names[:0], 0
	scanners.Put(s)
}

// value returns the index after the value that starts at i or after the white
// space there.
func (s *scanner) value(i int) (end int, err error) {
	raw, around := s.raw, len(s.open)
	for {
		i = s.space(i)
		if i >= len(raw) {
			return i, s.unexpected(i, "a value")
		}
		switch c := raw[i]; {
		case c == '"':
			if i, err = s.text(i); err != nil {
				return i, err
			}
		case c == '{' || c == '[':
			if err = s.enter(c); err != nil {
				return i, err
			}
			i = s.space(i + 1)
			if i < len(raw) && raw[i] == closing(c) {
				s.leave()
				i++
				break
			}
			if c == '{' {
				if _, i, err = s.name(i); err != nil {
					return i, err
				}
			}
			continue
		case c == '-' || '0' <= c && c <= '9':
			if i, err = s.number(i); err != nil {
				return i, err
			}
		default:
			if i, err = s.literal(i); err != nil {
				return i, err
			}
		}
		// A value ended, and possibly its containers.
		for {
			if len(s.open) == around {
				return i, nil
			}
			kind := s.open[len(s.open)-1].kind
			more, next, err := s.more(i, kind)
			if err != nil {
				return next, err
			}
			i = next
			if !more {
				s.leave()
				continue
			}
			if kind == '{' {
				if _, i, err = s.name(s.space(i)); err != nil {
					return i, err
				}
			}
			break
		}
	}
}

// into enters the array or object that the text must be. It returns the index
// after its first byte or, if it is empty, after its end.
func (s *scanner) into(kind byte) (i int, empty bool, err error) {
	if i = s.space(0); i >= len(s.raw) || s.raw[i] != kind {
		what := "a JSON object"
		if kind == '[' {
			what = "a JSON array"
		}
		return i, false, s.unexpected(i, what)
	}
	if err := s.enter(kind); err != nil {
		return i, false, err
	}
	i++
	if next := s.space(i); next < len(s.raw) && s.raw[next] == closing(kind) {
		return next + 1, true, nil
	}
	return i, false, nil
}

// more reads the text after a member or an element. next is the index after the
// comma before another one, or after the end of the container.
func (s *scanner) more(i int, kind byte) (more bool, next int, err error) {
	i = s.space(i)
	if i < len(s.raw) {
		switch s.raw[i] {
		case ',':
			return true, i + 1, nil
		case closing(kind):
			return false, i + 1, nil
		}
	}
	if kind == '{' {
		return false, i, s.unexpected(i, "a comma or the end of the object")
	}
	return false, i, s.unexpected(i, "a comma or the end of the array")
}

// name returns the quoted name of the member that starts at i and the index
// after its colon.
func (s *scanner) name(i int) (quoted []byte, next int, err error) {
	if i >= len(s.raw) || s.raw[i] != '"' {
		return nil, i, s.unexpected(i, "a member's name in quotes")
	}
	end, err := s.text(i)
	if err != nil {
		return nil, end, err
	}
	quoted = s.raw[i:end:end]
	if s.strict {
		if err := s.distinct(unquotedName(quoted)); err != nil {
			return nil, i, err
		}
	}
	if end = s.space(end); end >= len(s.raw) || s.raw[end] != ':' {
		return nil, end, s.unexpected(end, "a colon")
	}
	return quoted, end + 1, nil
}

// enter starts an array or object. It returns ErrTooDeep.
func (s *scanner) enter(kind byte) error {
	if len(s.open) == maxNesting {
		return ErrTooDeep
	}
	s.open = append(s.open, level{kind: kind, first: len(s.names)})
	return nil
}

// leave ends the innermost array or object.
func (s *scanner) leave() {
	last := len(s.open) - 1
	s.names = s.names[:s.open[last].first]
	s.open[last].index = nil
	s.open = s.open[:last]
}

// closing returns the closing bracket of '{' or '[', which is 2 higher in
// ASCII.
func closing(kind byte) byte { return kind + 2 }

// end returns an error if anything but white space follows at i.
func (s *scanner) end(i int) error {
	if i = s.space(i); i < len(s.raw) {
		return errors.New("unexpected data after the JSON value")
	}
	return nil
}

// space returns the index of the first byte from i on that is not white space.
func (s *scanner) space(i int) int {
	for i < len(s.raw) && s.raw[i] <= ' ' && isSpace(s.raw[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// number returns the index after the number that starts at i.
func (s *scanner) number(i int) (end int, err error) {
	raw := s.raw
	if raw[i] == '-' {
		i++
	}
	if i < len(raw) && raw[i] == '0' {
		i++
	} else if i, err = s.digits(i); err != nil {
		return i, err
	}
	if i < len(raw) && raw[i] == '.' {
		if i, err = s.digits(i + 1); err != nil {
			return i, err
		}
	}
	if i < len(raw) && (raw[i] == 'e' || raw[i] == 'E') {
		if i++; i < len(raw) && (raw[i] == '+' || raw[i] == '-') {
			i++
		}
		return s.digits(i)
	}
	return i, nil
}

// digits returns the index after the digits at i. At least one is required.
func (s *scanner) digits(i int) (end int, err error) {
	if i >= len(s.raw) || s.raw[i] < '0' || s.raw[i] > '9' {
		return i, s.unexpected(i, "a digit")
	}
	for i < len(s.raw) && '0' <= s.raw[i] && s.raw[i] <= '9' {
		i++
	}
	return i, nil
}

// literal returns the index after true, false or null.
func (s *scanner) literal(i int) (end int, err error) {
	for _, literal := range [...]string{"true", "false", "null"} {
		if end := i + len(literal); end <= len(s.raw) && string(s.raw[i:end]) == literal {
			return end, nil
		}
	}
	return i, s.unexpected(i, "a value")
}

// unexpected returns the error for unexpected text at i.
func (s *scanner) unexpected(i int, wanted string) error {
	if i >= len(s.raw) {
		return fmt.Errorf("unexpected end of JSON, expected %s", wanted)
	}
	r, size := utf8.DecodeRune(s.raw[i:])
	if r == utf8.RuneError && size <= 1 {
		return fmt.Errorf("invalid UTF-8 0x%02x at byte %d, expected %s", s.raw[i], i, wanted)
	}
	return fmt.Errorf("invalid character %q at byte %d, expected %s", r, i, wanted)
}
