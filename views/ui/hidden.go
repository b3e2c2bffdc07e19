package ui

import (
	"fmt"
	"strings"
	"unicode"
)

// Clean returns s for display: without control characters, bidirectional controls,
// zero-width characters and tag characters, which are invisible to users but not to
// models. It retains tabs and line feeds. Invalid UTF-8 becomes U+FFFD.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if !Hidden(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	before := rune(0)
	for _, r := range s {
		if !hiddenAfter(before, r) {
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}

// Hidden reports whether s contains characters that Clean removes.
func Hidden(s string) bool {
	before := rune(0)
	for _, r := range s {
		if hiddenAfter(before, r) {
			return true
		}
		before = r
	}
	return false
}

// hiddenAfter reports whether r is hidden after the character before. A variation
// selector after a symbol is not, because it selects the emoji style.
func hiddenAfter(before, r rune) bool {
	if (r == 0xfe0e || r == 0xfe0f) && (unicode.Is(unicode.So, before) || unicode.Is(unicode.Sm, before)) {
		return false
	}
	return hidden(r)
}

// hidden reports whether r is invisible but changes the content or the reading of a
// text.
func hidden(r rune) bool {
	switch {
	case r == '\t', r == '\n':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f: // C0, DEL and C1
		return true
	case r == 0x00ad, r == 0x034f, r == 0x061c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0:
		return true // soft hyphen, grapheme joiner, Arabic letter mark, fillers, inherent vowels
	case r >= 0x180b && r <= 0x180f: // Mongolian selectors and separator
		return true
	case r >= 0x200b && r <= 0x200f: // zero width, joiners, direction marks
		return true
	case r == 0x2028, r == 0x2029, r >= 0x202a && r <= 0x202e: // separators, embedding and override
		return true
	case r >= 0x2060 && r <= 0x206f: // word joiner, invisible operators, isolates
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef: // variation selectors
		return true
	case r == 0xfeff, r >= 0xfff0 && r <= 0xfffb:
		return true
	case r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a:
		return true
	case r >= 0xe0000 && r <= 0xe0fff: // tags
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

// part is a piece of a text: plain text, or the code point of one hidden character.
type part struct {
	text   string
	hidden bool
}

// maxReveal is the maximum number of code points that Raw splits.
const maxReveal = 20_000

// reveal splits s into plain text and the code points of hidden characters.
func reveal(s string) []part {
	var parts []part
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			parts = append(parts, part{text: plain.String()})
			plain.Reset()
		}
	}
	n, before := 0, rune(0)
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		if n++; n > maxReveal {
			plain.WriteString("…")
			break
		}
		concealed := hiddenAfter(before, r)
		before = r
		if concealed {
			flush()
			parts = append(parts, part{text: fmt.Sprintf("U+%04X", r), hidden: true})
			continue
		}
		plain.WriteRune(r)
	}
	flush()
	return parts
}
