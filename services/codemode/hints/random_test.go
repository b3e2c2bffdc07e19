package hints_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"mcpgateway/services/codemode/hints"
	"mcpgateway/services/sandbox"
)

// TestRandomCode runs parts of programs in a random order with random facts. No
// code may make it panic, and every outcome has at most Max hints.
func TestRandomCode(t *testing.T) {
	raw, err := os.ReadFile("../testdata/correct.json")
	if err != nil {
		t.Fatal(err)
	}
	var programs []struct{ Code string }
	if err := json.Unmarshal(raw, &programs); err != nil {
		t.Fatal(err)
	}
	parts := []string{
		"r.content[0].text", "JSON.parse(r)", "r?.x?.[0]", "tools.github.list_issues(", "github__list_issues(", "slack-bot.list_channels()", "`${", "}", "```", "/[/", "\\", "'", "\"", "\n", "é😀",
		"forEach(async () => {", "try {", "} catch {}", "const [a, , b] = await Promise.all([", "await", "gateway.", "github[", "def f():\n", "import x", "return", ".catch(() => {})", "allSettled(",
	}
	for _, p := range programs {
		parts = append(parts, p.Code)
	}
	tools := func() []hints.Tool {
		return []hints.Tool{{Full: "github__list_issues", Alias: "github", Name: "list_issues"}, {Full: "slack-bot__list-channels", Alias: "slack-bot", Name: "list-channels"}, {Full: "__", Alias: "", Name: ""}}
	}
	messages := []string{"'tools' is not defined", "not a function", "cannot read property 'content' of undefined", "cannot read property of undefined", "cannot read property 'Symbol.iterator' of null", ""}
	random := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		var b strings.Builder
		for range 1 + random.IntN(6) {
			part := parts[random.IntN(len(parts))]
			from := random.IntN(len(part) + 1)
			b.WriteString(part[from : from+random.IntN(len(part)+1-from)])
		}
		place := func() sandbox.Position {
			return sandbox.Position{Line: random.IntN(8) - 1, Column: random.IntN(60) - 1}
		}
		run := hints.Run{Code: b.String(), Tools: tools, Result: `"'mcp' is not defined"`, Seen: &sandbox.Facts{Promise: random.IntN(2) == 0}}
		for range random.IntN(4) {
			run.Calls = append(run.Calls, hints.Call{Tool: []string{"github__list_issues", "github__x", "fetch", "", "a__"}[random.IntN(5)], Error: []string{"", "failed"}[random.IntN(2)]})
			value := sandbox.Value{Kind: []string{"text", "array", "object", ""}[random.IntN(4)]}
			run.Seen.Calls = append(run.Seen.Calls, sandbox.CallFact{Position: place(), Used: random.IntN(2) == 0, Open: random.IntN(2) == 0, Value: &value})
			run.Seen.Reads = append(run.Seen.Reads, sandbox.ReadFact{Position: place(), Property: "x", Call: random.IntN(6) - 1})
			run.Seen.Parses = append(run.Seen.Parses, sandbox.ParseFact{Position: place(), Value: value})
		}
		if random.IntN(3) > 0 {
			at := place()
			run.Error = &sandbox.RunError{
				Phase: []sandbox.Phase{sandbox.PhaseRuntime, sandbox.PhaseParse}[random.IntN(2)], Name: []string{"TypeError", "ReferenceError", "SyntaxError"}[random.IntN(3)],
				Message: messages[random.IntN(len(messages))], Line: at.Line, Column: at.Column,
			}
		}
		if found := hints.Of(run); len(found) > hints.Max {
			t.Fatalf("%d hints for %q", len(found), run.Code)
		}
	}
}
