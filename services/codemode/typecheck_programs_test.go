package codemode_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mcpgateway/services/codemode"
	"mcpgateway/services/sandbox"
	"mcpgateway/services/toolset"
	"mcpgateway/services/typescript"
	"mcpgateway/services/typescript/typescripttest"
)

// declared returns the declarations of the servers in slips.json.
func declared(t *testing.T) string {
	t.Helper()
	var raw struct {
		Servers []struct {
			Alias string
			Tools []json.RawMessage
		}
	}
	readTestdata(t, "slips.json", &raw)
	var all []*toolset.Tool
	for _, server := range raw.Servers {
		for _, definition := range server.Tools {
			var named struct{ Name string }
			if err := json.Unmarshal(definition, &named); err != nil {
				t.Fatal(err)
			}
			all = append(all, typescripttest.Tool(server.Alias, named.Name, definition))
		}
	}
	return typescripttest.Declare(t, all, typescript.Settings{}).Text
}

// TestTypecheckPrograms checks the types of correct programs, of which at most
// one may be refused, and of programs with slips that types show.
func TestTypecheckPrograms(t *testing.T) {
	var s slips
	readTestdata(t, "slips.json", &s)
	var correct []struct{ Code string }
	readTestdata(t, "correct.json", &correct)
	r := runner(t, codemode.Options{TSC: typescripttest.Compiler(t)})
	declarations := declared(t)
	refused := func(code string) (bool, codemode.Outcome) {
		q := codemode.Request{ProjectID: "p", Code: code, Tools: s.tools(), Typecheck: codemode.TypecheckError, Declarations: func() (string, error) { return declarations, nil }}
		out := run(t, r, q, &s)
		return out.Error != nil && out.Error.Phase == sandbox.PhaseTypecheck, out
	}
	n := 0
	for i := 0; i < len(correct); i += len(correct) / 24 {
		if was, out := refused(correct[i].Code); was {
			n++
			t.Logf("%s\n%s", correct[i].Code, out.Error.Message)
		}
	}
	if n > 1 {
		t.Errorf("%d correct programs were refused, want at most 1", n)
	}
	shown := map[string]bool{
		"alias with hyphen": true, "tools. or mcp. prefix": true, "flat name or callTool": true, "import or require": true, "process, fetch or setInterval": true, "Python": true,
	}
	for _, p := range s.Programs {
		if !shown[p.Slip] {
			continue
		}
		was, out := refused(p.Code)
		if !was || len(out.Calls) > 0 {
			t.Errorf("%s: not refused\n%s", p.Slip, p.Code)
		} else if len(out.Error.Message) > 900 || strings.Contains(out.Error.Message, "npm i") {
			t.Errorf("%s: message %s", p.Slip, out.Error.Message)
		}
	}
}

// TestTypecheckWarnings runs correct programs with findings that never fail a
// run.
func TestTypecheckWarnings(t *testing.T) {
	const declarations = "declare const math: { add(args: { a: number; b: number }): Promise<any>; opt(): Promise<{}>; };\n"
	r := runner(t, codemode.Options{TSC: typescripttest.Compiler(t)})
	for _, tt := range []struct{ name, code, want string }{
		{"property of {}", "const r = await math.add({ a: 1, b: 2 });\nconst o = {};\no.sum = r.sum;\nreturn o", "(TS2339)"},
		{"property of unknown", "const r = new Map(input.map((i) => [i.n, i]));\nreturn r.get(1)?.n", "(TS2339)"},
		{"difference of dates", "return new Date(5) - new Date(2)", "(TS2362)"},
		{"null and undefined", "let found = null;\nfor (const n of [1, 2]) if (n > 1) found = { n };\nreturn found.n", ""},
		{"untyped parameter", "const twice = (n) => n * 2;\nreturn twice(4)", ""},
		{"missing property", "await math.add({ a: 1 })", "Property 'b' is missing"},
	} {
		q := request(tt.code)
		q.Typecheck, q.Input = codemode.TypecheckError, []byte(`[{"n":1}]`)
		q.Declarations = func() (string, error) { return declarations, nil }
		out := run(t, r, q, newTools())
		text := ""
		if len(out.Logs) > 0 {
			text = out.Logs[0].Text
		}
		if tt.name == "missing property" {
			if out.Error == nil || out.Error.Phase != sandbox.PhaseTypecheck || !strings.Contains(out.Error.Message, tt.want) {
				t.Errorf("%s: %+v, want %q", tt.name, out.Error, tt.want)
			}
			continue
		}
		if !out.OK || (len(out.Logs) > 0) != (tt.want != "") || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %+v, logs %+v, want %q", tt.name, out.Error, out.Logs, tt.want)
		}
	}
}
