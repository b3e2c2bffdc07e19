package outbox

import (
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/query"
)

// Filter selects events. It is immutable and safe for concurrent use.
type Filter struct{ query *query.Query }

// ParseFilter returns the filter of a query with the qualifiers kind, project and
// action. kind and action match a whole name or its first part, such as server;
// kind:audit matches every audit entry, and action only audit entries. Text is
// found in the kind and the data. The empty query matches every event. It returns
// the faults of query.Grammar.Parse.
func ParseFilter(text string) (*Filter, error) {
	parsed, err := query.Events().Parse(text)
	if err != nil {
		return nil, err
	}
	return &Filter{parsed}, nil
}

// Matches reports whether the filter selects an event.
func (f *Filter) Matches(e *models.OutboxEvent) bool {
	return f.query.Matches(func(c *query.Clause) bool {
		switch c.Qualifier {
		case "kind":
			return c.Folded == "audit" && e.Audit || named(e.Kind, c.Folded)
		case "action":
			return e.Audit && named(e.Kind, c.Folded)
		case "project":
			return e.Project == c.Folded
		}
		return strings.Contains(query.Fold(e.Kind), c.Folded) || strings.Contains(query.Fold(e.Body), c.Folded)
	})
}

// named reports whether a dotted kind is the name or begins with it.
func named(kind, name string) bool {
	rest, ok := strings.CutPrefix(kind, name)
	return ok && (rest == "" || rest[0] == '.')
}
