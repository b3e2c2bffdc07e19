package toolsearch

import (
	"mcpgateway/services/query"
	"mcpgateway/services/toolset"
)

// Filter returns those of the tools for which a query in the grammar of
// query.Tools holds, in their order, by the rules of the query mode. The tools
// need not be listed ones; they are read anew each time, so that nothing is
// kept of tools that no client finds.
func Filter(tools []*toolset.Tool, q *query.Query) []*toolset.Tool {
	literals, marks := readLiterals(tools)
	var found []*toolset.Tool
	var known probes
	for i, tool := range tools {
		matched := q.Matches(func(c *query.Clause) bool {
			_, ok := literals[i].holds(c, marks[i].hasAll(known.hashes(c)))
			return ok
		})
		if matched {
			found = append(found, tool)
		}
	}
	return found
}
