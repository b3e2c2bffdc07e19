package toolsearch

import (
	"strings"

	"mcpgateway/services/query"
	"mcpgateway/services/toolset"
)

// Matcher returns a function that reports whether a tool matches the qualifiers
// of a query in the grammar of query.Tools, by its last confirmed access. It needs
// no index.
func Matcher(q *query.Query) func(*toolset.Tool) bool {
	texts := false
	for _, c := range q.Clauses {
		switch c.Qualifier {
		case "server", "readonly", "destructive":
		default:
			texts = true // reading them is expensive
		}
	}
	return func(tool *toolset.Tool) bool {
		var l literal
		if texts {
			l.read(tool)
		} else {
			l.server = query.Fold(strings.ToValidUTF8(tool.Server.Config.Alias, " "))
		}
		l.readOnly, l.destructive = tool.ToolsetAccess == toolset.AccessRead, tool.ToolsetAccess == toolset.AccessDestructive
		return q.Matches(func(c *query.Clause) bool {
			_, ok := l.holds(c, true)
			return ok
		})
	}
}
