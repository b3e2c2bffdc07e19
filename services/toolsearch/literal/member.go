package literal

import (
	"strings"

	"mcpgateway/services/query"
	"mcpgateway/services/toolsearch/analyzer"
	"mcpgateway/services/toolsearch/tooltext"
	"mcpgateway/services/toolset"
)

// Matcher returns a function that reports whether a tool matches the qualifiers
// of a query in the grammar of query.Tools, by its last confirmed access. It needs
// no index.
func Matcher(q *query.Query) func(*toolset.Tool) bool {
	return func(tool *toolset.Tool) bool {
		return q.Matches(func(c *query.Clause) bool {
			l := literal{readOnly: tool.ToolsetAccess == toolset.AccessRead, destructive: tool.ToolsetAccess == toolset.AccessDestructive}
			switch c.Qualifier {
			case "server":
				l.server = query.Fold(strings.ToValidUTF8(tool.Server.Config.Alias, " "))
			case "name":
				texts := memberNames(tool)
				l.fullName, l.names = texts.fullName, texts.names
			case "param":
				l.params = memberParams(tool)
			}
			_, ok := l.holds(c, true)
			return ok
		})
	}
}

// namesKey and paramsKey are the keys of a tool's folded texts. Reading them is
// expensive compared with a match.
type (
	namesKey  struct{}
	paramsKey struct{}
)

// folded are the names of a tool as a literal has them, without the starts of
// words.
type folded struct {
	fullName string
	names    []name
}

func memberNames(tool *toolset.Tool) *folded {
	return toolset.Memo(tool, namesKey{}, func() *folded {
		f := &folded{fullName: query.Fold(strings.ToValidUTF8(tool.FullName, " "))}
		for _, text := range tooltext.Names(tool) {
			f.names = append(f.names, name{text: query.Fold(analyzer.Clip(text, maxText))})
		}
		return f
	})
}

func memberParams(tool *toolset.Tool) []string {
	return toolset.Memo(tool, paramsKey{}, func() []string {
		params := tooltext.Params(tool)
		for i := range params {
			params[i] = query.Fold(params[i])
		}
		return params
	})
}
