// Package query parses the search language of the catalog and of tool search:
// words, quoted phrases, name:value qualifiers, and - to exclude. A Grammar
// defines the qualifiers of a surface. Every error has the span of the wrong
// clause and a correction.
package query

import "mcpgateway/services/fault"

// Query is a parsed query. It is immutable and safe for concurrent use.
// Grammar.Parse returns it.
type Query struct {
	// Clauses are the conditions in the order of the input, without the
	// qualifiers type and entity, which have no effect.
	Clauses []Clause
	// Warnings are in the order of their clauses.
	Warnings []Warning

	text     []Clause
	excluded []Clause
	choices  [][]Clause // the positive clauses of each qualifier
}

// Clause is a condition of a query.
type Clause struct {
	Negated   bool
	Qualifier string     // in lower case, empty for text
	Value     string     // as written, without quotes and escapes; never empty
	Folded    string     // Fold(Value)
	Bool      bool       // the value of a Bool qualifier
	Span      fault.Span // the whole clause with its - in code points of the input
}

// Warning concerns a clause that has another effect than it seems to.
type Warning = fault.Warning

// WarningFixedType is the code of the warning about a type or entity other than
// the surface's.
const WarningFixedType = "RESULT_TYPE_FIXED"

// Text returns the text clauses that are not negated, for ranking. The caller
// must not modify them.
func (q *Query) Text() []Clause { return q.text }

// Matches reports whether a row satisfies the query (spec, "Catalog query
// syntax", 1 to 4): every text clause, at least one positive value of each
// qualifier, and no negated clause. holds reports whether the row satisfies a
// clause, ignoring its negation; it must not modify the clause.
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

// arrange groups the clauses for Matches.
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
