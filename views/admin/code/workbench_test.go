package code_test

import (
	"strings"
	"testing"

	"mcpgateway/views/admin/code"
	"mcpgateway/views/layout"
)

func TestTypecheckState(t *testing.T) {
	found := []code.Diagnostic{{Line: 3, Column: 1}, {Line: 7, Column: 2}}
	for _, tt := range []struct {
		name    string
		checked bool
		outcome *code.Outcome
		want    string
	}{
		{"before a run", true, nil, "TypeScript"},
		{"not checked", false, &code.Outcome{OK: true}, "TypeScript"},
		{"passed", true, &code.Outcome{OK: true}, "TypeScript · no type errors"},
		{"passed, then failed", true, &code.Outcome{Error: &code.RunError{Phase: "runtime"}}, "TypeScript · no type errors"},
		{"compiler failed", true, &code.Outcome{OK: true, Unchecked: true}, "TypeScript"},
		{"invalid code", true, &code.Outcome{Error: &code.RunError{Phase: "parse"}}, "TypeScript"},
		{"errors", true, &code.Outcome{OK: true, Diagnostics: found}, "TypeScript · 2 type errors"},
	} {
		var b strings.Builder
		props := code.WorkbenchProps{Frame: layout.Frame{Person: &layout.Person{Role: layout.RoleAdmin}}, On: true, Checked: tt.checked, Outcome: tt.outcome}
		if err := code.Workbench(props).Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		lines := ""
		if tt.name == "errors" {
			lines = "3 7"
		}
		if want := `data-lines="` + lines + `">` + tt.want + "<"; !strings.Contains(b.String(), want) {
			t.Errorf("%s: page lacks %s", tt.name, want)
		}
	}
}
