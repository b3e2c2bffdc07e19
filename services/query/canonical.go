package query

import (
	"strings"
	"unicode"
)

// Canonical returns the canonical form of the query, which cursors are bound
// to: single spaces, lower-case qualifiers, quotes only where needed, and no
// type or entity. Parsing it returns the same clauses and the same canonical
// form. It is never longer than the input.
func (q *Query) Canonical() string {
	var b strings.Builder
	for i := range q.Clauses {
		if i > 0 {
			b.WriteByte(' ')
		}
		q.Clauses[i].writeTo(&b)
	}
	return b.String()
}

func (c *Clause) writeTo(b *strings.Builder) {
	if c.Negated {
		b.WriteByte('-')
	}
	if c.Qualifier != "" {
		b.WriteString(c.Qualifier)
		b.WriteByte(':')
	}
	if c.needsQuotes() {
		writePhrase(b, c.Value)
	} else {
		b.WriteString(c.Value)
	}
}

// needsQuotes reports whether the bare value would be parsed as something else.
func (c *Clause) needsQuotes() bool {
	if c.Value[0] == '"' || strings.ContainsFunc(c.Value, unicode.IsSpace) {
		return true
	}
	if c.Qualifier != "" {
		return false
	}
	// After the - of a negated clause, a second - is text.
	return c.Value[0] == '-' && !c.Negated || nameLength(c.Value) > 0
}

func writePhrase(b *strings.Builder, s string) {
	b.WriteByte('"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	b.WriteByte('"')
}
