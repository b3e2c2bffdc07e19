package wire

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxExcerptBytes is the maximum length of an excerpt.
const maxExcerptBytes = 160

// Excerpt returns the start of an upstream's text for a message: printable and
// on one line.
func Excerpt(b []byte) string {
	cut := len(b) > maxExcerptBytes
	if cut {
		b = b[:maxExcerptBytes]
		for len(b) > 0 && !utf8.RuneStart(b[len(b)-1]) {
			b = b[:len(b)-1]
		}
		if len(b) > 0 && b[len(b)-1] >= utf8.RuneSelf {
			b = b[:len(b)-1]
		}
	}
	s := strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError || !unicode.IsPrint(r) && !unicode.IsSpace(r):
			return '.'
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, string(b))
	if cut {
		s += "..."
	}
	return s
}
