package codemode

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"mcpgateway/services/sandbox"
)

var diagnosticAt = regexp.MustCompile(`^code\.ts\((\d+),(\d+)\): error (TS\d+): (.*)$`)

// returnOutside is the code of a return outside of a function, which a run
// accepts.
const returnOutside = "TS1108"

// ambient declares the globals of the prelude that the declarations of the
// tools don't declare.
var ambient = []string{
	"input: any", "setTimeout: (action: (...args: any[]) => void, ms?: number, ...args: any[]) => number", "clearTimeout: (id?: number) => void",
	"structuredClone: <T>(value: T) => T", "queueMicrotask: (action: () => void) => void", "atob: (data: string) => string", "btoa: (data: string) => string",
	"TextEncoder: any", "TextDecoder: any", "URL: any", "URLSearchParams: any",
}

// typecheck checks the code if the request requires it and a compiler is
// available. done reports that the compiler rejected the code, so out is final
// and nothing ran.
func (r *run) typecheck() (out Outcome, done bool) {
	q := r.request
	if !r.runner.CanTypecheck() || q.Declarations == nil || q.Typecheck == "" || q.Typecheck == TypecheckOff {
		return Outcome{}, false
	}
	found, err := r.diagnostics()
	if err != nil {
		// A failing compiler must not prevent code from running.
		r.runner.log.Warn("type check failed", "error", err)
		r.logs = append(r.logs, LogLine{Level: "warn", Text: UncheckedText})
		return Outcome{}, false
	}
	if len(found) == 0 {
		return Outcome{}, false
	}
	var errs []Diagnostic
	for _, d := range found {
		if q.Typecheck == TypecheckError && !d.isWarning() {
			errs = append(errs, d)
		} else {
			r.logs = append(r.logs, LogLine{Level: "warn", Text: sandbox.ClipText(diagnosticPrefix+d.String(), sandbox.MaxErrorText)})
		}
	}
	if len(errs) == 0 {
		return Outcome{}, false
	}
	var all []string
	for _, d := range errs {
		all = append(all, d.String())
	}
	return r.outcome(&sandbox.FinishMessage{Error: &sandbox.RunError{
		Phase: sandbox.PhaseTypecheck, Name: "TypeError", Message: sandbox.ClipText(strings.Join(all, "\n"), sandbox.MaxErrorText), Line: errs[0].Line, Column: errs[0].Column,
		Hint: "Nothing was run. Fix the type errors and send the code again.",
	}}), true
}

// diagnostics runs the compiler on the code and the declarations of the tools
// that it names.
func (r *run) diagnostics() ([]Diagnostic, error) {
	declarations, err := r.request.Declarations()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "typecheck")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	code, wrapped := sandbox.AsModule(r.request.Code)
	for name, content := range map[string]string{"tools.d.ts": declarations + ambientFor(declarations), "code.ts": code} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(r.ctx, typecheckTimeout)
	defer cancel()
	printed, err := sandbox.RunCompiler(ctx, r.runner.options.TSC, dir,
		"--noEmit", "--strict", "false", "--pretty", "false", "--target", "es2023", "--lib", "es2023", "--module", "esnext",
		"--moduleDetection", "force", "--types", "", "--skipLibCheck", "code.ts", "tools.d.ts")
	if err != nil {
		return nil, err
	}
	lines := strings.Count(r.request.Code, "\n") + 1
	var found []Diagnostic
	for line := range strings.SplitSeq(printed, "\n") {
		line = strings.TrimRight(line, "\r")
		m := diagnosticAt.FindStringSubmatch(line)
		if m == nil {
			// An indented line is the reason for the diagnostic before it.
			if len(found) > 0 && strings.HasPrefix(line, "  ") {
				found[len(found)-1].because(strings.TrimSpace(line))
			}
			continue
		}
		if m[3] == returnOutside {
			continue
		}
		if len(found) == maxDiagnostics {
			break
		}
		at, _ := strconv.Atoi(m[1])
		column, _ := strconv.Atoi(m[2])
		found = append(found, Diagnostic{Line: min(lines, max(1, at-wrapped)), Column: column, Code: m[3], Text: shortened(m[4])})
	}
	return found, nil
}

// ambientFor returns the declarations of ambient that are missing from
// declarations.
func ambientFor(declarations string) string {
	var b strings.Builder
	for _, line := range ambient {
		name, _, _ := strings.Cut(line, ":")
		declared := regexp.MustCompile(`declare (?:const|let|var|function|class) ` + regexp.QuoteMeta(name) + `\b`)
		if !declared.MatchString(declarations) {
			b.WriteString("\ndeclare const " + line + ";")
		}
	}
	return b.String() + "\n"
}
