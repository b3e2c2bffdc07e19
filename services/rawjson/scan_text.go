package rawjson

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// text returns the index after the string that starts at i. Its bytes are valid
// UTF-8. An escape can be half of a surrogate pair, as in RFC 8259 section 8.2.
func (s *scanner) text(i int) (end int, err error) {
	raw := s.raw
	for i++; ; {
		i = plainEnd(raw, i)
		if i >= len(raw) {
			return i, s.unexpected(i, "the end of a string")
		}
		switch c := raw[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\':
			if i, err = s.escape(i); err != nil {
				return i, err
			}
		case c < ' ':
			return i, s.unexpected(i, "an escape sequence in its place")
		default:
			for i < len(raw) && raw[i] >= utf8.RuneSelf {
				r, size := utf8.DecodeRune(raw[i:])
				if r == utf8.RuneError && size == 1 {
					return i, fmt.Errorf("invalid UTF-8 at byte %d", i)
				}
				i += size
			}
		}
	}
}

// plainEnd returns the index of the first byte from i on that is a quote, a
// backslash or not printable ASCII, or len(raw).
func plainEnd(raw []byte, i int) int {
	const (
		ones   = 0x0101010101010101
		high   = 0x80 * ones
		spaces = ' ' * ones
		quotes = '"' * ones
		slants = '\\' * ones
	)
	// 8 bytes at a time: a byte's high bit is set if the byte is not ASCII, if
	// subtracting a space borrows, or if subtracting 1 borrows after the byte
	// sought was made zero. A borrow only reaches bytes above one whose bit is
	// set, so the lowest set bit is always right.
	for ; i+8 <= len(raw); i += 8 {
		w := binary.LittleEndian.Uint64(raw[i:])
		if found := (w | (w - spaces) | ((w ^ quotes) - ones) | ((w ^ slants) - ones)) & high; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(raw); i++ {
		if c := raw[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}

// escape returns the index after the escape sequence at i. For a surrogate pair
// it is the index after both sequences.
func (s *scanner) escape(i int) (end int, err error) {
	if i+1 >= len(s.raw) {
		return len(s.raw), s.unexpected(len(s.raw), "an escape sequence")
	}
	if c := s.raw[i+1]; c != 'u' {
		if unescaped(c) == 0 {
			return i, fmt.Errorf("invalid escape sequence at byte %d", i)
		}
		return i + 2, nil
	}
	if _, size := escapedRune(s.raw[i:]); size > 0 {
		return i + size, nil
	}
	return i, fmt.Errorf("invalid escape sequence at byte %d", i)
}

// unescaped returns the character of the escape sequence \c, or 0 if there is
// none.
func unescaped(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return 0
}

// escapedRune returns the character of the \u sequence at the start of b, and
// the length of the sequence: 12 bytes for a surrogate pair. Half a pair is
// U+FFFD in 6 bytes. The length is 0 when b does not start with a sequence.
func escapedRune(b []byte) (r rune, size int) {
	first, ok := escapedUnit(b)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(first) {
		return first, 6
	}
	second, ok := escapedUnit(b[6:])
	if r = utf16.DecodeRune(first, second); !ok || r == utf8.RuneError {
		return utf8.RuneError, 6
	}
	return r, 12
}

// escapedUnit parses \uXXXX.
func escapedUnit(b []byte) (unit rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		unit <<= 4
		switch {
		case '0' <= c && c <= '9':
			unit |= rune(c - '0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			unit |= rune(c|0x20-'a') + 10
		default:
			return 0, false
		}
	}
	return unit, true
}
