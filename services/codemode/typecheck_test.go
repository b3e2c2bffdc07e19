package codemode_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpgateway/services/codemode"
	"mcpgateway/services/sandbox"
	"mcpgateway/services/typescript/typescripttest"
)

func TestTypecheckRejectsErrors(t *testing.T) {
	const declarations = "declare const math: { \"add\"(args: { a: number; b: number }): Promise<{ sum: number }>; };\ndeclare const console: { log(...a: any[]): void };\n"
	cases := []struct {
		name, code string
		line       int    // of the first diagnostic; 0 for none
		message    string // contained in its message
	}{
		{"right", "const r = await math.add({a: 1, b: 2});\nreturn r.sum", 0, ""},
		{"wrong type", "const n = 1;\nawait math.add({a: 'x', b: n})", 2, "not assignable"},
		{"unknown argument", "return await math.add({a: 1, b: 2, c: 3})", 1, "'c'"},
		{"unknown tool", "await math.sub({})", 1, "sub"},
		{"Markdown fence", "```ts\nawait math.add({a: 1})\n```", 2, "'b'"},
		{"export", "export default async () => {\n  return await math.add({a: 1})\n}", 2, "'b'"},
		{"fetch disabled", "await fetch('x')", 1, "fetch"},
		{"globals of the runtime", "setTimeout(() => {}, 1); new URL('http://x/'); structuredClone(input); atob(btoa('x')); new TextEncoder(); return gatewayless()", 1, "gatewayless"},
	}
	r := runner(t, codemode.Options{TSC: typescripttest.Compiler(t)})
	if !r.CanTypecheck() {
		t.Fatal("CanTypecheck() = false with a compiler")
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newTools()
			q := request(c.code)
			q.Typecheck = codemode.TypecheckError
			q.Declarations = func() (string, error) { return declarations, nil }
			out := run(t, r, q, d)
			if c.line == 0 {
				if !out.OK {
					t.Fatalf("%+v", out.Error)
				}
				return
			}
			if out.Error == nil || out.Error.Phase != sandbox.PhaseTypecheck || out.Error.Line != c.line || !strings.Contains(out.Error.Message, c.message) || len(d.made()) > 0 {
				t.Errorf("error %+v, calls %q", out.Error, d.made())
			}
			checkDiagnostics(t, out, c.line, c.message)
			q.Typecheck = codemode.TypecheckWarn
			out = run(t, r, q, d)
			checkDiagnostics(t, out, c.line, c.message)
			if len(out.Logs) == 0 || out.Logs[0].Level != "warn" || !strings.Contains(out.Logs[0].Text, c.message) || out.Error != nil && out.Error.Phase == sandbox.PhaseTypecheck {
				t.Errorf("as a warning: logs %+v, error %+v", out.Logs, out.Error)
			}
		})
	}
}

// checkDiagnostics checks the first diagnostic of an outcome.
func checkDiagnostics(t *testing.T, out codemode.Outcome, line int, message string) {
	t.Helper()
	all := out.Diagnostics()
	if len(all) == 0 || all[0].Line != line || all[0].Column == 0 || !strings.HasPrefix(all[0].Code, "TS") || !strings.Contains(all[0].Text, message) {
		t.Errorf("Diagnostics() = %+v, want line %d with %q", all, line, message)
	}
}

func TestDiagnosticsOfOtherLogs(t *testing.T) {
	out := codemode.Outcome{
		Logs:  []codemode.LogLine{{Text: "typecheck: line 3"}, {Text: "line 1, column 2: x (TS1)"}, {Text: "typecheck: line 3, column 9: a (b) (TS2339)"}},
		Error: &sandbox.RunError{Phase: sandbox.PhaseRuntime, Message: "line 1, column 2: x (TS1)"},
	}
	want := []codemode.Diagnostic{{Line: 3, Column: 9, Code: "TS2339", Text: "a (b)"}}
	if got := out.Diagnostics(); !slices.Equal(got, want) {
		t.Errorf("Diagnostics() = %+v, want %+v", got, want)
	}
}

func TestCompilerFailureDoesNotBlockRun(t *testing.T) {
	script := filepath.Join(t.TempDir(), "tsc")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	q := request("return 1")
	q.Typecheck = codemode.TypecheckError
	q.Declarations = func() (string, error) { return "", nil }
	q.Timeout = 20 * time.Second
	out := run(t, runner(t, codemode.Options{TSC: script}), q, newTools())
	if string(out.Result) != "1" || len(out.Logs) != 1 || out.Logs[0].Level != "warn" {
		t.Errorf("result %s, logs %+v, error %+v", out.Result, out.Logs, out.Error)
	}
}
