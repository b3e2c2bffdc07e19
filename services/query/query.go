// Package query reads the search language of the catalog and of tool search:
// words, quoted phrases, name:value qualifiers, and - before what to leave
// out. A Grammar says which qualifiers a surface has; every error tells which
// clause is wrong and what to write instead.
package query

import "mcpgateway/services/fault"

// Query is a query that was read. It is made by Grammar.Parse, never changed
// afterwards, and safe for concurrent use.
type Query struct {
	// Clauses are what the query asks for, in its order. The qualifiers type
	// and entity, which have no effect, are not among them.
	Clauses []Clause
	// Warnings are in the order of the clauses that they are about.
	Warnings []Warning

	text     []Clause
	excluded []Clause
	choices  [][]Clause // the positive clauses of each qualifier
}

// Clause is one condition of a query.
type Clause struct {
	Negated   bool
	Qualifier string     // in lower case, empty for text
	Value     string     // as written, without quotes and escapes; never empty
	Folded    string     // Fold(Value)
	Bool      bool       // the value of a Bool qualifier
	Span      fault.Span // the whole clause with its - in code points of the input
}

// Warning tells about a clause that does not do what it seems to.
type Warning = fault.Warning

// WarningFixedType is the code of the warning about a type or entity that
// would leave nothing of what the surface finds.
const WarningFixedType = "RESULT_TYPE_FIXED"

// Text returns the text clauses that are not negated, which relevance is
// computed from. The caller must not change them.
func (q *Query) Text() []Clause { return q.text }

// Matches reports whether a row satisfies the query (spec, "Catalog query
// syntax", 1 to 4): every text clause, at least one of the positive values of
// each qualifier, and no negated clause. The function holds tells whether the
// row satisfies one clause, its negation left aside; it must not change it.
func (q *Query) Matches(holds func(*Clause) bool) bool {
	for i := range q.text {
		if !holds(&q.text[i]) {
			return false
		}
	}
	for _, choice := range q.choices {
		if !anyHolds(choice, holds) {
			return false
		}
	}
	return !anyHolds(q.excluded, holds)
}

func anyHolds(clauses []Clause, holds func(*Clause) bool) bool {
	for i := range clauses {
		if holds(&clauses[i]) {
			return true
		}
	}
	return false
}

// arrange sorts the clauses by what Matches does with them.
func (q *Query) arrange() {
	for _, c := range q.Clauses {
		switch {
		case c.Negated:
			q.excluded = append(q.excluded, c)
		case c.Qualifier == "":
			q.text = append(q.text, c)
		default:
			q.addChoice(c)
		}
	}
}

func (q *Query) addChoice(c Clause) {
	for i, choice := range q.choices {
		if choice[0].Qualifier == c.Qualifier {
			q.choices[i] = append(choice, c)
			return
		}
	}
	q.choices = append(q.choices, []Clause{c})
}
