package literal

import (
	"mcpgateway/services/query"
	"mcpgateway/services/toolset"
)

// Filter returns the tools that match a query in the grammar of query.ToolList, in
// their order, with the rules of the query mode. The tools can be hidden ones.
// They are parsed on each call, so nothing is cached for tools that clients
// can't find.
func Filter(tools []*toolset.Tool, q *query.Query) []*toolset.Tool {
	texts := New(tools)
	var found []*toolset.Tool
	var known probes
	for i, tool := range tools {
		matched := q.Matches(func(c *query.Clause) bool {
			switch c.Qualifier {
			case "access":
				return string(tool.Access) == c.Folded
			case "state":
				return StateOf(tool) == c.Folded
			}
			_, ok := texts.tools[i].holds(c, texts.marks[i].hasAll(known.hashes(c)))
			return ok
		})
		if matched {
			found = append(found, tool)
		}
	}
	return found
}

// StateOf returns the state of a tool as in the qualifier state: on, off or
// approve.
func StateOf(tool *toolset.Tool) string {
	switch tool.Hidden {
	case toolset.Visible:
		return "on"
	case toolset.HiddenByApproval:
		return "approve"
	}
	return "off"
}
