package typescript_test

import (
	"strings"
	"testing"

	"mcpgateway/services/typescript"
	"mcpgateway/services/typescript/typescripttest"
)

func TestFunctionOf(t *testing.T) {
	const ticket = `{"inputSchema":{"type":"object","required":["project"],"properties":{"project":{"type":"string","description":"Key of it.\nTwo lines; }"},"priority":{"enum":["low","high"]},"fields":{"type":"object","properties":{"a":{"type":"integer"}}}}}}`
	for _, tt := range []struct{ alias, tool, definition, call, parameters string }{
		{"linear", "create_issue", ticket, "linear.create_issue", `(args: { project: string; priority?: "low" | "high"; fields?: { a?: number } })`},
		{"my-tracker", "list-issues", `{"inputSchema":{"type":"object"}}`, `my$_tracker["list-issues"]`, "(args?: { [key: string]: unknown })"},
		{"t", "broken", `{"inputSchema":`, "t.broken", "(args?: Record<string, unknown>)"},
	} {
		got := typescript.FunctionOf(typescripttest.Tool(tt.alias, tt.tool, []byte(tt.definition)))
		want := typescript.Function{Call: tt.call, Parameters: tt.parameters, Optional: strings.Contains(tt.parameters, "args?")}
		if got != want {
			t.Errorf("FunctionOf(%s, %s) = %+v, want %+v", tt.alias, tt.tool, got, want)
		}
	}
}

func TestFunctionParametersLimit(t *testing.T) {
	// The parameters of a tool with one required string are "args: { NAME: string }".
	const rest, limit = len("args: { : string }"), 160
	for _, n := range []int{limit - 1, limit, limit + 1} {
		name := strings.Repeat("a", n-rest)
		got := typescript.FunctionOf(typescripttest.Tool("t", "x", []byte(`{"inputSchema":{"type":"object","required":["`+name+`"],"properties":{"`+name+`":{"type":"string"}}}}`))).Parameters
		if want := min(n, limit) + 2; len([]rune(got)) != want || strings.HasSuffix(got, "…)") != (n > limit) {
			t.Errorf("%d characters become %d: %s", n, len([]rune(got)), got)
		}
	}
}
