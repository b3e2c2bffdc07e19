package resultlimit_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpgateway/models/modelstest"
)

// run runs code and returns the text of its result.
func run(t *testing.T, s *mcp.ClientSession, code string, more ...any) string {
	t.Helper()
	arguments := map[string]any{"code": code}
	for i := 0; i < len(more); i += 2 {
		arguments[more[i].(string)] = more[i+1]
	}
	return strings.Join(texts(call(t, s, "gateway_executeTool", arguments)), "\n")
}

func TestCodeStoresAndLoads(t *testing.T) {
	w := newWorld(t, modelstest.SQLite(t), limited)
	s := connect(t, w.endpoint("p"), w.key)
	_, otherKey := w.Key(t, "p", 0)
	other := connect(t, w.endpoint("p"), otherKey)
	for _, tt := range []struct{ name, code, want string }{
		{"store", `const r = await gateway.store("a.b-c_1", {n: [1, "é"]}); return [r.name, r.bytes, r.expiresAt.length]`, `["a.b-c_1",14,20]`},
		{"load", `return await gateway.load("a.b-c_1")`, `{"n":[1,"é"]}`},
		{"text", "await gateway.store('text', 'a\\n\"\\u0000😀'); return await gateway.load('text') === 'a\\n\"\\u0000😀'", `true`},
		{"JSON text", `await gateway.store("text", "[1]"); return typeof await gateway.load("text")`, `string`},
		{"absent", `try { await gateway.load("absent") } catch (e) { return [e instanceof ToolError, e.message] }`, `[true,"Nothing is stored for you as absent.`},
		{"wrong name", `return await gateway.store("a b", 1)`, `1 to 128 characters`},
		{"undefined", `return await gateway.store("a", undefined)`, `The value has no JSON form`},
		{"maximum", `await gateway.store("big", "x".repeat(5 * 1024 * 1024)); return (await gateway.load("big")).length`, `5242880`},
		{"more", `await gateway.store("big", "x".repeat(5 * 1024 * 1024 + 1))`, `5242881 bytes; the maximum is 5242880`},
		{"much more", `await gateway.store("big", "x".repeat(9 * 1024 * 1024))`, `too large`},
		{"unchanged", `return (await gateway.load("big")).length`, `5242880`},
		{"calls count", `for (let i = 0; i < 101; i++) await gateway.load("text")`, `at most 100 tool calls`},
	} {
		if got := run(t, s, tt.code); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %.500s, want %s", tt.name, got, tt.want)
		}
	}
	if got := run(t, other, `return await gateway.load("text")`); !strings.Contains(got, "Nothing is stored for you as text.") || strings.Contains(got, "there is no tool") {
		t.Errorf("another key: %s", got)
	}
	planned := run(t, s, `await gateway.store("draft", {a: 1}); return (await gateway.load("draft")).a`, "dryRun", true)
	if !strings.Contains(planned, `gateway.store {"name":"draft","bytes":7}`) || !strings.HasPrefix(planned, "1\n") {
		t.Errorf("dry run: %s", planned)
	}
	if got := run(t, s, `return await gateway.load("draft")`); !strings.Contains(got, "Nothing is stored for you as draft.") || strings.Contains(got, "there is no tool") {
		t.Errorf("after the dry run: %s", got)
	}
	id := next(t, texts(call(t, s, "up__list", nil))[1])["id"]
	if got := run(t, s, fmt.Sprintf(`return (await gateway.load(%q)).items.length`, id)); !strings.Contains(got, "25000") {
		t.Errorf("a cut answer: %.300s", got)
	}
}

func TestCutAnswersOfCodeAreStored(t *testing.T) {
	w := newWorld(t, modelstest.SQLite(t), limited)
	s := connect(t, w.endpoint("p"), w.key)
	stored := regexp.MustCompile(`it is stored for 24 hours: await gateway\.load\("([a-z]+-[0-9a-f]+)"\)`)
	got := run(t, s, `for (let i = 0; i < 300; i++) console.log("line", i); return Array.from({length: 20000}, (_, i) => i)`)
	names := stored.FindAllStringSubmatch(got, -1)
	if len(names) != 2 || !strings.Contains(got, "[truncated: 100 more lines") {
		t.Fatalf("stored %v: %.200s … %s", names, got, got[max(0, len(got)-400):])
	}
	if got := run(t, s, fmt.Sprintf(`const r = await gateway.load(%q); return [r.length, r[19999]]`, names[0][1])); !strings.Contains(got, "[20000,19999]") {
		t.Errorf("the result: %.300s", got)
	}
	if got := run(t, s, fmt.Sprintf(`const r = (await gateway.load(%q)).split("\n"); return [r.length, r[0], r[299]]`, names[1][1])); !strings.Contains(got, `[301,"[log] line 0","[log] line 299"]`) {
		t.Errorf("the logs: %.300s", got)
	}
	text := run(t, s, `return "x".repeat(70000)`)
	if got := run(t, s, fmt.Sprintf(`return (await gateway.load(%q)).length`, stored.FindStringSubmatch(text)[1])); !strings.Contains(got, "70000") {
		t.Errorf("the text: %.300s", got)
	}
}

func TestStoringNeedsCredentials(t *testing.T) {
	w := newWorld(t, modelstest.SQLite(t), `"authMode":"none","codeMode":{"enabled":true}`)
	s := connect(t, w.endpoint("p"), "")
	for _, code := range []string{`await gateway.store("a", 1)`, `await gateway.load("a")`} {
		if got := run(t, s, code); !strings.Contains(got, "needs a key or a sign-in") {
			t.Errorf("%s: %s", code, got)
		}
	}
	if got := run(t, s, `return "x".repeat(70000)`); !strings.HasSuffix(got, "[truncated: the whole result has 70002 bytes]") {
		t.Errorf("a cut answer: %.100s … %s", got, got[len(got)-100:])
	}
}
