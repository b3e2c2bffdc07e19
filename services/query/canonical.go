package query

import (
	"strings"
	"unicode"
)

// Canonical returns the one spelling of what the query asks for, which cursors
// are bound to: single spaces, qualifiers in lower case, quotes only where
// they are needed, and no type or entity. Read again it gives the same
// clauses and the same spelling; it is never longer than what was read.
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

// needsQuotes reports whether the bare value would be read as something else.
func (c *Clause) needsQuotes() bool {
	if c.Value[0] == '"' || strings.ContainsFunc(c.Value, unicode.IsSpace) {
		return true
	}
	if c.Qualifier != "" {
		return false
	}
	// Behind the - of a negated clause another one is text.
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
