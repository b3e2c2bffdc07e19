package catalog

import (
	"slices"
	"strings"
	"unicode"

	"mcpgateway/services/nearest"
	"mcpgateway/services/query"
)

// Limits of the search for closest matches.
const (
	maxNearTerms   = 4      // words of a query that are corrected
	maxVocabulary  = 20_000 // words of the catalog that they are compared with
	minSearchTerm  = 3      // characters of a word that is searched by itself
	descriptionRow = 1      // weight of a word in a description
	titleRow       = 3      // weight of a word in a title, name or tag
)

// Near is the listing of a query close to one without matches.
type Near struct {
	Words string // that the listing matches
	Text  string // the query of the listing
	*Listing
}

// Near returns the entries closest to a view without matches: with its misspelled
// words corrected, or those that match its rarest word. Qualifiers and excluded
// words of the query stay. It returns nil if nothing is close.
func (c *Catalog) Near(v View) (*Near, error) {
	parsed, err := query.Registry().Parse(v.Text)
	if err != nil {
		return nil, err
	}
	s := c.current.Load()
	if near := s.tried(s.corrected(parsed), v); near != nil {
		return near, nil
	}
	return s.tried(s.rarest(parsed), v), nil
}

// tried returns the listing of a query, or nil if it matches nothing anywhere.
func (s *snapshot) tried(q *query.Query, v View) *Near {
	if q == nil {
		return nil
	}
	found := s.browse(q, v)
	if found.Total+found.Local == 0 {
		return nil
	}
	near := &Near{Text: q.Canonical(), Listing: found}
	for _, c := range q.Clauses {
		if c.Qualifier == "" && !c.Negated {
			near.Words += " " + c.Value
		}
	}
	near.Words = strings.TrimSpace(near.Words)
	return near
}

// corrected returns the query with the words that no entry has replaced by
// similar ones, or nil if there is none to replace.
func (s *snapshot) corrected(q *query.Query) *query.Query {
	corrected, replaced := slices.Clone(q.Clauses), 0
	for i, c := range corrected {
		if c.Qualifier != "" || c.Negated || replaced == maxNearTerms || s.has(c) {
			continue
		}
		if word := nearest.Word(c.Folded, s.words()); word != "" {
			corrected[i] = query.Clause{Value: word, Folded: query.Fold(word)}
			replaced++
		}
	}
	if replaced == 0 {
		return nil
	}
	return &query.Query{Clauses: corrected}
}

// rarest returns the query with only the word that the fewest entries have, or
// nil if no entry has any of its words or it has only one.
func (s *snapshot) rarest(q *query.Query) *query.Query {
	var rest []query.Clause
	var best *query.Clause
	terms, fewest := 0, len(s.entries)+1
	for i := range q.Clauses {
		c := &q.Clauses[i]
		if c.Qualifier != "" || c.Negated {
			rest = append(rest, *c)
			continue
		}
		if terms++; terms > maxNearTerms || len(c.Folded) < minSearchTerm {
			continue
		}
		if _, n := s.entryIndex.Find(&query.Query{Clauses: []query.Clause{*c}}, 0, 0); n > 0 && n < fewest {
			best, fewest = c, n
		}
	}
	if best == nil || terms < 2 {
		return nil
	}
	return &query.Query{Clauses: append([]query.Clause{*best}, rest...)}
}

// has reports whether any entry matches a clause.
func (s *snapshot) has(c query.Clause) bool {
	_, n := s.entryIndex.Find(&query.Query{Clauses: []query.Clause{c}}, 0, 0)
	return n > 0
}

// vocabulary returns the words of the entries, weighted by how often and where
// they occur.
func (s *snapshot) vocabulary() map[string]int {
	words := map[string]int{}
	add := func(text string, weight int) {
		for _, w := range strings.FieldsFunc(query.Fold(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			if _, known := words[w]; known || len(words) < maxVocabulary {
				words[w] += weight
			}
		}
	}
	for _, e := range s.entries {
		for _, text := range append([]string{e.ServerTitle, e.ServerName, e.PublisherTitle}, e.Tags...) {
			add(text, titleRow)
		}
	}
	for _, e := range s.entries {
		add(e.Description, descriptionRow)
	}
	return words
}
