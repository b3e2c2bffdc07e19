package query

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"mcpgateway/services/fault"
)

// lexer splits valid UTF-8 into clauses.
type lexer struct {
	input string
	pos   int // bytes read
	point int // code points read
}

// lexeme is a clause as written. Its span and raw text cover the whole clause
// even if it is malformed.
type lexeme struct {
	negated bool
	name    string // as written, empty for text
	value   string // unescaped
	raw     string
	span    fault.Span
	problem fault.Code // first problem after the name, or empty
}

// next returns the next clause. ok is false at the end of the input.
func (l *lexer) next() (x lexeme, ok bool) {
	for l.pos < len(l.input) && l.atGap() {
		l.step()
	}
	if l.pos == len(l.input) {
		return x, false
	}
	start := l.pos
	x.span.Start = l.point
	if l.input[l.pos] == '-' {
		x.negated = true
		l.step()
	}
	if n := nameLength(l.input[l.pos:]); n > 0 {
		x.name = l.input[l.pos : l.pos+n]
		l.pos += n + 1 // a name and its colon are ASCII
		l.point += n + 1
	}
	switch {
	case !l.atGap() && l.input[l.pos] == '"':
		x.value, x.problem = l.phrase()
	case !l.atGap():
		x.value = l.bare()
	case x.name != "":
		x.problem = fault.CodeEmptyValue
	default:
		x.problem = fault.CodeDanglingNegation
	}
	x.span.End = l.point
	x.raw = l.input[start:l.pos]
	return x, true
}

// nameLength returns the length of the name at the start of s, or 0 if no colon
// follows it.
func nameLength(s string) int {
	for i, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '_' || c == '-'):
		case i > 0 && c == ':':
			return i
		default:
			return 0
		}
	}
	return 0
}

// bare reads up to the next white space.
func (l *lexer) bare() string {
	start := l.pos
	for !l.atGap() {
		l.step()
	}
	return l.input[start:l.pos]
}

// phrase reads from an opening quote to the end of the clause. It continues
// after a problem, because spans cover whole clauses.
func (l *lexer) phrase() (value string, problem fault.Code) {
	l.step()
	start, escaped := l.pos, false
	for l.pos < len(l.input) && l.input[l.pos] != '"' {
		if l.input[l.pos] == '\\' {
			l.step()
			if l.pos == len(l.input) {
				break
			}
			if c := l.input[l.pos]; c != '"' && c != '\\' && problem == "" {
				problem = fault.CodeInvalidEscape
			}
			escaped = true
		}
		l.step()
	}
	body := l.input[start:l.pos]
	if l.pos == len(l.input) {
		if problem == "" {
			problem = fault.CodeUnterminatedQuote
		}
		return body, problem
	}
	l.step()
	if rest := l.bare(); rest != "" && problem == "" {
		problem = fault.CodeUnexpectedCharacter
	}
	if body == "" && problem == "" {
		problem = fault.CodeEmptyValue
	}
	if escaped {
		body = unescape(body)
	}
	return body, problem
}

// unescape replaces every backslash and its following character by that
// character.
func unescape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for {
		before, after, found := strings.Cut(s, `\`)
		b.WriteString(before)
		if !found || after == "" {
			return b.String()
		}
		b.WriteByte(after[0])
		s = after[1:]
	}
}

// atGap reports whether the clause ends at the current position.
func (l *lexer) atGap() bool {
	if l.pos == len(l.input) {
		return true
	}
	r, _ := utf8.DecodeRuneInString(l.input[l.pos:])
	return unicode.IsSpace(r)
}

// step reads a code point.
func (l *lexer) step() {
	_, size := utf8.DecodeRuneInString(l.input[l.pos:])
	l.pos += size
	l.point++
}
