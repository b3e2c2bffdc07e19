package schema

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ShortValue returns a value in a form short enough for a comment.
func ShortValue(n *Node, depth int) string {
	if depth > 3 {
		return "…"
	}
	var b strings.Builder
	switch n.Kind {
	case '"':
		if depth == 0 {
			return n.Text
		}
		return Quote(n.Text)
	case '0', 't', 'f', 'n':
		return string(n.Raw)
	case '[':
		for i, item := range n.Items {
			if i > 0 {
				b.WriteString(", ")
			}
			if b.Len() > MaxTagText {
				break
			}
			b.WriteString(ShortValue(item, depth+1))
		}
		return "[" + b.String() + "]"
	}
	for i, m := range n.Members {
		if i > 0 {
			b.WriteString(", ")
		}
		if b.Len() > MaxTagText {
			break
		}
		b.WriteString(Quote(m.Name) + ": " + ShortValue(m.Value, depth+1))
	}
	return "{" + b.String() + "}"
}

// CleanText returns an upstream's text in a form safe in a comment. It has only
// visible characters in lines, doesn't end the comment, has no compiler
// directives, and is at most limit bytes long.
func CleanText(s string, limit int) string {
	cut := len(s) > 4*limit
	if cut {
		s = s[:4*limit] // the rest would be cut anyway
	}
	s = strings.ToValidUTF8(s, "")
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
		case r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			b.WriteByte('\n')
		case r == '\t':
			b.WriteByte(' ')
		case unicode.Is(unicode.C, r):
		default:
			b.WriteRune(r)
		}
	}
	s = strings.TrimSpace(b.String())
	if cut || len(s) > limit {
		s = s[:min(len(s), limit)]
		for !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	s = strings.ReplaceAll(s, "*/", `*\/`)
	// The compiler also obeys @ts-ignore and similar directives in such
	// comments.
	return strings.ReplaceAll(s, "@ts-", "@ ts-")
}

// OneLine returns the cleaned text with its lines joined.
func OneLine(s string, limit int) string {
	return strings.Join(strings.Fields(CleanText(s, limit)), " ")
}

// Quote returns a string literal of ASCII and printable letters. It escapes
// everything that is invisible, ends a line, or changes the direction of text.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < ' ' || r != ' ' && !unicode.IsPrint(r):
			b.WriteString(`\u{` + strconv.FormatInt(int64(r), 16) + "}")
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// ClipBytes returns the longest prefix of s with whole characters and at most n
// bytes.
func ClipBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[:n]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}

// IsPlainIdentifier reports whether s is an ASCII identifier without a dollar
// sign. It may be a reserved word.
func IsPlainIdentifier(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && !IsLetter(c) && (i == 0 || !IsDigit(c)) {
			return false
		}
	}
	return s != ""
}

// IsLetter reports whether c is an ASCII letter.
func IsLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// IsDigit reports whether c is an ASCII digit.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }
