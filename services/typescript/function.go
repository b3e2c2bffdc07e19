package typescript

import (
	"strings"

	"mcpgateway/services/schema"
	"mcpgateway/services/toolset"
)

// Function is a tool as code calls it.
type Function struct {
	Call       string // "tracker.list_issues", or `tracker["list-issues"]`
	First      string // argument before the object: the name of a recipe, quoted; or empty
	Parameters string // "(args: { state?: string })", on one line
	Optional   bool   // a call can omit the argument
}

// FunctionOf returns the function of a tool in its namespace. Parameters has no
// comments and at most maxParameters characters.
func FunctionOf(tool *toolset.Tool) Function {
	ident := Identifier(tool.Server.Config.Alias)
	d := declareTool(tool, ident, map[string]int{})
	if tool.Recipe != nil {
		return Function{Call: "gateway.run", First: schema.Quote(tool.Local()), Parameters: "(" + schema.Quote(tool.Local()) + ", " + onOneLine(d.args, maxParameters) + ")", Optional: strings.HasPrefix(d.args, "input?")}
	}
	call := ident + "." + tool.Local()
	if !schema.IsPlainIdentifier(tool.Local()) {
		call = ident + "[" + schema.Quote(tool.Local()) + "]"
	}
	return Function{Call: call, Parameters: "(" + onOneLine(d.args, maxParameters) + ")", Optional: strings.HasPrefix(d.args, "args?")}
}

// maxParameters is the maximum length of Function.Parameters, in characters.
const maxParameters = 160

// onOneLine returns a type without comments and line breaks, truncated to limit
// characters.
func onOneLine(text string, limit int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "/**") || strings.HasPrefix(line, "*") || line == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(line)
	}
	whole := strings.ReplaceAll(b.String(), "; }", " }")
	if runes := []rune(whole); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return whole
}
