package query

import (
	"strings"
	"unicode/utf8"

	"mcpgateway/services/fault"
)

// Parse returns the query that input holds; an empty one asks for everything.
// It returns a fault of KindInvalid for the first thing that is wrong from the
// left, a name being judged at its colon and a value when it has been read:
// UNKNOWN_QUALIFIER, UNSUPPORTED_QUALIFIER (another surface has it),
// EMPTY_VALUE, INVALID_VALUE, UNTERMINATED_QUOTE, INVALID_ESCAPE,
// UNEXPECTED_CHARACTER, DANGLING_NEGATION or TOO_MANY_CLAUSES with the span of
// the whole clause in code points, or QUERY_TOO_LONG or INVALID_UTF8 without
// one. The messages say what to write (contract, "Catalog query grammar").
func (g Grammar) Parse(input string) (*Query, error) {
	if err := checkText(input); err != nil {
		return nil, err
	}
	q := &Query{}
	l := lexer{input: input}
	for n := 1; ; n++ {
		x, ok := l.next()
		if !ok {
			q.arrange()
			return q, nil
		}
		if n > MaxClauses {
			return nil, x.fault(fault.CodeTooManyClauses, "the query has more than %d clauses; leave some out, or put words that stand side by side in quotes", MaxClauses)
		}
		if err := g.read(q, &x); err != nil {
			return nil, err
		}
	}
}

// read adds a clause to the query.
func (g Grammar) read(q *Query, x *lexeme) error {
	name := strings.ToLower(x.name)
	kind, known := g.Qualifiers[name]
	if name != "" && !known {
		return g.strange(name, x)
	}
	if x.problem != "" {
		return x.malformed(name)
	}
	c := Clause{Negated: x.negated, Qualifier: name, Value: x.value, Folded: Fold(x.value), Span: x.span}
	switch {
	case name == "":
	case kind == Bool:
		if c.Folded != "true" && c.Folded != "false" {
			return x.fault(fault.CodeInvalidValue, "%s is either true or false; write %s:true or %s:false", name, name, name)
		}
		c.Bool = c.Folded == "true"
	case kind == Fixed:
		if named := c.Folded == g.Surface || c.Folded == g.Surface+"s"; named == c.Negated {
			span := x.span // of its own, so that clauses need not live on the heap
			q.Warnings = append(q.Warnings, Warning{
				Code:    WarningFixedType,
				Message: name + " has no effect: this search always finds " + g.Surface + "s and nothing else",
				Span:    &span,
			})
		}
		return nil
	}
	q.Clauses = append(q.Clauses, c)
	return nil
}

// strange returns the fault for a qualifier that the surface does not have.
func (g Grammar) strange(name string, x *lexeme) error {
	have := strings.Join(g.names(), ", ")
	if others := homes(name); len(others) > 0 {
		return x.fault(fault.CodeUnsupportedQualifier, "%s works in the search for %s, not for %ss; here the qualifiers are %s%s", name, strings.Join(others, " and "), g.Surface, have, x.asText())
	}
	return x.fault(fault.CodeUnknownQualifier, "there is no qualifier %s; here the qualifiers are %s%s", clip(name), have, x.asText())
}

// asText returns the end of a message about a clause that may have been meant
// as text.
func (x *lexeme) asText() string {
	text := x.raw
	if x.negated {
		text = text[1:]
	}
	const lead = "; to search for this as text, put it in quotes"
	if clip(text) != text || strings.HasSuffix(text, `"`) {
		return lead // an example would hide more than it shows
	}
	var b strings.Builder
	b.WriteString(lead + ": ")
	if x.negated {
		b.WriteByte('-')
	}
	writePhrase(&b, text)
	return b.String()
}

// malformed returns the fault for a clause that cannot be read.
func (x *lexeme) malformed(name string) error {
	switch x.problem {
	case fault.CodeDanglingNegation:
		return x.fault(x.problem, `a - leaves out what follows it without a space; write -word, or "-" in quotes to search for it`)
	case fault.CodeUnterminatedQuote:
		return x.fault(x.problem, `the quotes are not closed; write " at the end of the phrase, and \" for a quote inside it`)
	case fault.CodeInvalidEscape:
		return x.fault(x.problem, `inside quotes a \ stands only before " and \; write \\ for a backslash`)
	case fault.CodeUnexpectedCharacter:
		return x.fault(x.problem, `something follows the closing quote directly; write a space behind it, or \" for a quote inside the phrase`)
	}
	if name != "" {
		return x.fault(x.problem, "%s has no value; write it right behind the colon, such as %s:value", name, name)
	}
	return x.fault(x.problem, "there is nothing between the quotes; write the text to search for, or leave them out")
}

func (x *lexeme) fault(code fault.Code, format string, args ...any) *fault.Fault {
	f := fault.New(fault.KindInvalid, code, format, args...)
	span := x.span
	f.Span = &span
	return f
}

// clip shortens what a message quotes.
func clip(s string) string {
	const most = 40 // code points
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
