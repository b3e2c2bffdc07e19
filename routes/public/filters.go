package public

import (
	"net/url"
	"slices"

	"mcpgateway/services/query"
	"mcpgateway/views/ui"
)

// filterLinks creates links that add a clause to a query or remove it.
type filterLinks struct {
	link    func(text string) string // URL of the list for a query
	clauses []query.Clause
}

// address returns the URL of the list for a query.
func address(path, text string) string {
	if text == "" {
		return path
	}
	return path + "?" + url.Values{"query": {text}}.Encode()
}

func (n filterLinks) to(clauses []query.Clause) string {
	return n.link((&query.Query{Clauses: clauses}).Canonical())
}

// is reports whether a clause matches exactly this value.
func is(c *query.Clause, qualifier, value string) bool {
	return !c.Negated && c.Qualifier == qualifier && c.Folded == query.Fold(value)
}

// toggle returns the link that adds the value to the query, or removes it if it
// is present.
func (n filterLinks) toggle(qualifier, value string) (link string, on bool) {
	rest := slices.DeleteFunc(slices.Clone(n.clauses), func(c query.Clause) bool { return is(&c, qualifier, value) })
	if len(rest) < len(n.clauses) {
		return n.to(rest), true
	}
	return n.to(append(rest, query.Clause{Qualifier: qualifier, Value: value})), false
}

// only returns the link that replaces all values of the qualifier with this
// one, or removes it if it is present.
func (n filterLinks) only(qualifier, value string) (link string, on bool) {
	if link, on = n.toggle(qualifier, value); on {
		return link, on
	}
	rest := without(n.clauses, qualifier)
	return n.to(append(rest, query.Clause{Qualifier: qualifier, Value: value})), false
}

// without returns the clauses except those with a value of the qualifier.
func without(clauses []query.Clause, qualifier string) []query.Clause {
	return slices.DeleteFunc(slices.Clone(clauses), func(c query.Clause) bool { return !c.Negated && c.Qualifier == qualifier })
}

// has reports whether the query has a value of the qualifier.
func (n filterLinks) has(qualifier string) bool {
	return slices.ContainsFunc(n.clauses, func(c query.Clause) bool { return !c.Negated && c.Qualifier == qualifier })
}

// label returns the text of a clause's chip.
func label(c *query.Clause) string {
	switch {
	case !c.Negated && c.Qualifier == "verified" && c.Bool:
		return "Verified"
	case !c.Negated && c.Qualifier == "featured" && c.Bool:
		return "Featured"
	}
	text := ui.Clean((&query.Query{Clauses: []query.Clause{*c}}).Canonical())
	const most = 40 // characters
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// maxChips is the maximum number of clauses with a chip.
const maxChips = 12

// active returns a chip that removes its clause, for each clause without a chip
// in others. Words have no chip; they are in the search field.
func (n filterLinks) active(others []ui.Chip) []ui.Chip {
	var chips []ui.Chip
	for i := range n.clauses {
		c := &n.clauses[i]
		rest := n.to(slices.Delete(slices.Clone(n.clauses), i, i+1))
		known := slices.ContainsFunc(others, func(chip ui.Chip) bool { return chip.On && chip.URL == rest })
		if c.Qualifier == "" && !c.Negated || known || len(chips) == maxChips {
			continue
		}
		chips = append(chips, ui.Chip{Label: label(c), URL: rest, On: true})
	}
	return chips
}
