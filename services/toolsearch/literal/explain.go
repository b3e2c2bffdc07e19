package literal

import (
	"mcpgateway/services/query"
	"mcpgateway/services/toolsearch/tooltext"
	"mcpgateway/services/toolset"
)

// Explain returns the clauses of a query that a tool matches, and where it
// does best.
func Explain(q *query.Query, tool *toolset.Tool) []tooltext.Reason {
	var l literal
	l.read(tool)
	var reasons []tooltext.Reason
	for i := range q.Clauses {
		c := &q.Clauses[i]
		tier, ok := l.holds(c, true)
		if !ok || c.Negated {
			continue
		}
		word := c.Value
		if c.Qualifier != "" {
			word = c.Qualifier + ":" + c.Value
		}
		reasons = append(reasons, tooltext.Reason{Word: word, Found: word, Field: fieldOf(c.Qualifier, tier)})
	}
	return reasons
}

// fieldOf returns the field of a matching clause.
func fieldOf(qualifier string, tier int) string {
	switch {
	case qualifier == "server" || qualifier == "" && tier == tierServer:
		return "server"
	case qualifier == "param" || qualifier == "" && tier == tierParam:
		return "parameters"
	case qualifier == "readonly" || qualifier == "destructive":
		return "annotations"
	case tier == tierDescription:
		return "description"
	}
	return "name"
}
