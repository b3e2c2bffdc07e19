package query

import (
	"slices"
	"strings"
	"unicode/utf8"

	"mcpgateway/services/fault"
)

// Parse returns the parsed query. An empty one matches everything. It returns a
// fault of KindInvalid for the first problem from the left; names are checked
// at their colon, values at their end. UNKNOWN_QUALIFIER, UNSUPPORTED_QUALIFIER
// (another surface has it), EMPTY_VALUE, INVALID_VALUE, UNTERMINATED_QUOTE,
// INVALID_ESCAPE, UNEXPECTED_CHARACTER, DANGLING_NEGATION and TOO_MANY_CLAUSES
// have the span of the whole clause in code points. QUERY_TOO_LONG and
// INVALID_UTF8 have none. Messages contain a correction (contract, "Catalog
// query grammar").
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
			return nil, x.fault(fault.CodeTooManyClauses, "The query has more than %d clauses. Remove some, or put adjacent words in quotes.", MaxClauses)
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
		return g.unknownQualifier(name, x)
	}
	if x.problem != "" {
		return x.malformed(name)
	}
	if name == "" && g.NoText {
		return g.textRefused(x)
	}
	c := Clause{Negated: x.negated, Qualifier: name, Value: x.value, Folded: Fold(x.value), Span: x.span}
	switch {
	case name == "":
	case kind == Bool:
		if c.Folded != "true" && c.Folded != "false" {
			return x.fault(fault.CodeInvalidValue, "%s is either true or false. Write %s:true or %s:false.", name, name, name)
		}
		c.Bool = c.Folded == "true"
	case g.Choices[name] != nil:
		if choices := g.Choices[name]; !slices.Contains(choices, c.Folded) {
			return x.fault(fault.CodeInvalidValue, "%s is one of %s. Write %s:%s.", name, strings.Join(choices, ", "), name, choices[0])
		}
	case kind == Fixed:
		if named := c.Folded == g.Surface || c.Folded == g.Surface+"s"; named == c.Negated {
			span := x.span // a copy, so that clauses don't escape to the heap
			q.Warnings = append(q.Warnings, Warning{
				Code:    WarningFixedType,
				Message: name + " has no effect: this search returns only " + g.Surface + "s",
				Span:    &span,
			})
		}
		return nil
	}
	q.Clauses = append(q.Clauses, c)
	return nil
}

// unknownQualifier returns the fault for a qualifier that the surface doesn't have.
func (g Grammar) unknownQualifier(name string, x *lexeme) error {
	have, hint := strings.Join(g.names(), ", "), ""
	if !g.NoText {
		hint = x.asText()
	}
	if others := surfacesWith(name); len(others) > 0 {
		return x.fault(fault.CodeUnsupportedQualifier, "%s works in the search for %s, not for %ss. Available: %s.%s", name, strings.Join(others, " and "), g.Surface, have, hint)
	}
	return x.fault(fault.CodeUnknownQualifier, `Unknown filter "%s". Available: %s.%s`, clip(name), have, hint)
}

// textRefused returns the fault for text where only qualifiers are allowed.
func (g Grammar) textRefused(x *lexeme) error {
	text := x.value
	if clip(text) != text || strings.ContainsAny(text, " \"\\:") {
		text = "value"
	}
	sign := ""
	if x.negated {
		sign = "-"
	}
	return x.fault(fault.CodeInvalidValue, "Only filters select the tools of %ss. Write %sname:%s for a part of the name. Available: %s.", g.Surface, sign, text, strings.Join(g.names(), ", "))
}

// asText returns the end of a message about a clause that may have been meant
// as text.
func (x *lexeme) asText() string {
	text := x.raw
	if x.negated {
		text = text[1:]
	}
	const lead = " To search for this as text, put it in quotes"
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

// malformed returns the fault for a malformed clause.
func (x *lexeme) malformed(name string) error {
	switch x.problem {
	case fault.CodeDanglingNegation:
		return x.fault(x.problem, `- must be followed by a word to exclude. Write -word, or "-" in quotes to search for it.`)
	case fault.CodeUnterminatedQuote:
		return x.fault(x.problem, `The quotes are not closed. End the phrase with ", and write \" for a quote inside it.`)
	case fault.CodeInvalidEscape:
		return x.fault(x.problem, `Inside quotes, \ must be followed by " or \. Write \\ for a backslash.`)
	case fault.CodeUnexpectedCharacter:
		return x.fault(x.problem, `The closing quote must be followed by a space. Write \" for a quote inside the phrase.`)
	}
	if name != "" {
		return x.fault(x.problem, "%s has no value. Write it directly after the colon, such as %s:value.", name, name)
	}
	return x.fault(x.problem, "The quotes are empty. Write the text to search for, or remove them.")
}

func (x *lexeme) fault(code fault.Code, format string, args ...any) *fault.Fault {
	f := fault.New(fault.KindInvalid, code, format, args...)
	span := x.span
	f.Span = &span
	return f
}

// clip shortens a quoted text.
func clip(s string) string {
	const most = 40 // code points
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
