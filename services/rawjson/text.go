package rawjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// String returns the decoded JSON string raw; ok is false for any other value.
// An escape that is half of a surrogate pair becomes U+FFFD.
func String(raw []byte) (s string, ok bool) {
	if Kind(raw) != '"' {
		return "", false
	}
	sc := scanner{raw: raw}
	start := sc.space(0)
	end, err := sc.text(start)
	if err != nil || sc.end(end) != nil {
		return "", false
	}
	inner := raw[start+1 : end-1]
	if bytes.IndexByte(inner, '\\') >= 0 {
		inner = appendUnescaped(make([]byte, 0, len(inner)), inner)
	}
	return string(inner), true
}

// EqualString reports whether raw, valid JSON or nil, is a string that decodes to
// text. text must not contain characters that have to be escaped. Strings
// without escapes are compared without decoding.
func EqualString(raw []byte, text string) bool {
	if len(raw) == len(text)+2 && raw[0] == '"' && string(raw[1:len(raw)-1]) == text {
		return true
	}
	s, ok := String(raw)
	return ok && s == text
}

// IsExact reports whether String returns raw, a valid JSON string, without
// loss. String replaces half of a surrogate pair by U+FFFD.
func IsExact(raw []byte) bool {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 || i+1 >= len(raw) {
			return true
		}
		raw = raw[i:]
		size := 2
		if raw[1] == 'u' {
			unit, _ := escapedUnit(raw)
			if _, size = escapedRune(raw); size == 6 && utf16.IsSurrogate(unit) {
				return false
			}
		}
		raw = raw[max(size, 2):]
	}
}

// unquotedName returns the decoded text of a valid quoted name: a range of it
// if nothing is escaped.
func unquotedName(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	return appendUnescaped(make([]byte, 0, len(inner)), inner)
}

// appendUnescaped appends the decoded content of a valid string, given without
// its quotes.
func appendUnescaped(dst, inner []byte) []byte {
	for {
		i := bytes.IndexByte(inner, '\\')
		if i < 0 {
			return append(dst, inner...)
		}
		dst = append(dst, inner[:i]...)
		inner = inner[i:]
		if inner[1] == 'u' {
			r, size := escapedRune(inner)
			dst = utf8.AppendRune(dst, r)
			inner = inner[size:]
		} else {
			dst = append(dst, unescaped(inner[1]))
			inner = inner[2:]
		}
	}
}

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string(bytes.ToValidUTF8([]byte(s), []byte("\uFFFD")))
	}
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(append(dst, s[start:i]...), '\\')
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, c)
		case '\b':
			dst = append(dst, 'b')
		case '\f':
			dst = append(dst, 'f')
		case '\n':
			dst = append(dst, 'n')
		case '\r':
			dst = append(dst, 'r')
		case '\t':
			dst = append(dst, 't')
		default:
			const hex = "0123456789abcdef"
			dst = append(dst, 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
	}
	return append(append(dst, s[start:]...), '"')
}

// Quote returns s as a JSON string.
func Quote(s string) []byte { return AppendString(make([]byte, 0, len(s)+2), s) }
