package catalog

import (
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/query"
)

// MaxClosest is the maximum number of entries for a query without matches.
const MaxClosest = 10

// codeNoLiteralMatch is the code of the warning about suggestions.
const codeNoLiteralMatch = "NO_LITERAL_MATCH"

// NoLiteralMatch returns the warning with the suggestions for a query without
// matches.
func NoLiteralMatch() fault.Warning {
	return fault.Warning{Code: codeNoLiteralMatch, Message: "No server has all of these words. See suggestions for the closest ones."}
}

// Closest returns the entries closest to the words of a query, best first, at
// most MaxClosest, or a fault of the query grammar. The qualifiers of the query
// limit them, and none has an excluded word.
func (c *Catalog) Closest(text string) ([]*models.CatalogEntry, error) {
	parsed, err := query.Registry().Parse(text)
	if err != nil {
		return nil, err
	}
	return c.current.Load().closest(parsed, Filter{}), nil
}

func (s *snapshot) closest(q *query.Query, filter Filter) []*models.CatalogEntry {
	var words []string
	for _, c := range q.Text() {
		words = append(words, c.Value)
	}
	if len(words) == 0 {
		return nil
	}
	allowed := s.allowed(q)
	hits := s.suggest().Closest(strings.Join(words, " "), MaxClosest, func(row int) bool {
		return (allowed == nil || allowed[row]) && filter.selects(s.entries[row], s.runs[row])
	})
	rows := make([]*models.CatalogEntry, len(hits))
	for i, row := range hits {
		rows[i] = s.entries[row]
	}
	return rows
}

// allowed returns which entries match a query without its words, or nil for all.
func (s *snapshot) allowed(q *query.Query) []bool {
	limits := &query.Query{}
	for _, c := range q.Clauses {
		if c.Qualifier != "" || c.Negated {
			limits.Clauses = append(limits.Clauses, c)
		}
	}
	if len(limits.Clauses) == 0 {
		return nil
	}
	allowed := make([]bool, len(s.entries))
	s.entryIndex.Each(limits, func(row uint32) { allowed[row] = true })
	return allowed
}
