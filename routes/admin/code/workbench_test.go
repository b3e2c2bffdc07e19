package code_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/sandbox"
	"mcpgateway/services/upstream/upstreamtest"
)

// addTools adds the project many with a server of n tools.
func addTools(t *testing.T, a *routestest.Admin, n int) {
	t.Helper()
	tools := make([]upstreamtest.Tool, n)
	for i := range tools {
		tools[i].Definition = fmt.Sprintf(`{"name":"tool_%03d","inputSchema":{"type":"object","required":["q"],"properties":{"q":{"type":"string"}}},"annotations":{"destructiveHint":%v,"readOnlyHint":%v}}`, i, i == 0, i == 1)
	}
	up := upstreamtest.New(upstreamtest.Options{Name: "up", Tools: tools})
	a.Apply(t, fmt.Sprintf(`{"projects":{"many":{"authMode":"api_key","codeMode":{"enabled":true},"mcpServers":{"my-up":{"url":%q}}}}}`, up.Start(t)))
	a.Sync(t, "many", "my-up")
}

func TestWorkbenchFunctions(t *testing.T) {
	for _, tt := range []struct {
		tools, rows int
		find, text  string
	}{
		{39, 39, "", "39 functions · "}, {40, 40, "", "40 functions · "}, {41, 40, "", "First 40 of 41 functions · "},
		{41, 10, "tool_01", "10 of 41 functions · "}, {41, 0, "no such", `No function matches "no such".`},
	} {
		a := routestest.NewAdmin(t)
		addTools(t, a, tt.tools)
		status, body, _ := a.Send(t, "/admin/projects/many/code-mode?find="+url.QueryEscape(tt.find), nil)
		if rows := strings.Count(body, "data-insert="); status != 200 || rows != tt.rows || !strings.Contains(html.UnescapeString(body), tt.text) {
			t.Errorf("%d tools, find %q: status %d, %d rows, want %d and %q", tt.tools, tt.find, status, rows, tt.rows, tt.text)
		}
		if tt.find == "" {
			for _, want := range []string{`data-insert="await my$_up.tool_001({})"`, "(args: { q: string })", ">Destructive<", ">Write<"} {
				if !strings.Contains(body, want) {
					t.Errorf("functions lack %s", want)
				}
			}
		}
	}
}

// TestFirstCodeRuns runs the code that the form has at first.
func TestFirstCodeRuns(t *testing.T) {
	a := routestest.NewAdmin(t)
	_, body, _ := a.Send(t, "/admin/projects/p/code-mode", nil)
	code := regexp.MustCompile(`(?s)<textarea[^>]* name="code"[^>]*>(.*?)</textarea>`).FindStringSubmatch(body)
	if code == nil {
		t.Fatal("there is no code")
	}
	a.Send(t, "/admin/projects/p/code-mode/run", url.Values{"code": {html.UnescapeString(code[1])}, "input": {"{}"}})
	runs, err := a.Services.CodeRuns.List(t.Context(), projectID(t, a), "", 10)
	if err != nil || len(runs) != 1 || !runs[0].OK {
		t.Errorf("%d runs, %+v (%v)", len(runs), runs, err)
	}
}

func TestFindKeepsCode(t *testing.T) {
	a := routestest.NewAdmin(t)
	form := url.Values{"code": {"return 'unsent'"}, "input": {"{}"}, "dryRun": {"on"}, "find": {"days"}, "only": {"functions"}}
	status, body, _ := a.Send(t, "/admin/projects/p/code-mode/run", form)
	runs, err := a.Services.CodeRuns.List(t.Context(), projectID(t, a), "", 10)
	if err != nil || status != 200 || len(runs) > 0 {
		t.Fatalf("status = %d, %d runs (%v), want 200 without a run", status, len(runs), err)
	}
	for _, want := range []string{"return &#39;unsent&#39;", `value="days"`, `name="dryRun" value="on" form="run-form" checked`, "clock.days_between"} {
		if !strings.Contains(body, want) {
			t.Errorf("page lacks %s", want)
		}
	}
}

func TestFormerRunURLRedirects(t *testing.T) {
	a := routestest.NewAdmin(t)
	for from, to := range map[string]string{"": "", "?run=r1&typecheck=off": "?run=r1&typecheck=off"} {
		if status, _, at := a.Send(t, "/admin/projects/p/code-mode/run"+from, nil); status != 301 || at != "/admin/projects/p/code-mode"+to {
			t.Errorf("GET run%s: status %d, location %q", from, status, at)
		}
	}
}

func TestWorkbenchTurnsCodeModeOn(t *testing.T) {
	a := routestest.NewAdmin(t)
	a.Send(t, "/admin/projects/p/code-mode/settings", url.Values{"timeout": {"12"}, "allowFetch": {"on"}})
	_, body, _ := a.Send(t, "/admin/projects/p/code-mode", nil)
	if !strings.Contains(body, "Code Mode is off") || strings.Contains(body, "<textarea") {
		t.Fatal("page lacks the empty state")
	}
	form := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`).FindAllStringSubmatch(body[strings.Index(body, "Code Mode is off"):], -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	status, _, to := a.Send(t, "/admin/projects/p/code-mode/settings", form)
	p, err := a.Services.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Project; status != 303 || to != "/admin/projects/p/code-mode" || !s.CodeModeEnabled || s.CodeModeTimeoutMS != 12_000 || !s.CodeModeAllowFetch {
		t.Errorf("status = %d, location %q, stored %+v", status, to, s)
	}
}

func projectID(t *testing.T, a *routestest.Admin) string {
	t.Helper()
	p, err := a.Services.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	return p.Project.ID
}

// TestOutcomeParts checks what a stored run shows: errors with their places, the
// times of calls and log lines, and the receipt.
func TestOutcomeParts(t *testing.T) {
	a := routestest.NewAdmin(t)
	run := func(code string) string {
		t.Helper()
		_, _, to := a.Send(t, "/admin/projects/p/code-mode/run", url.Values{"code": {code}, "typecheck": {"warn"}})
		to, _, _ = strings.Cut(to, "#")
		status, body, _ := a.Send(t, to, nil)
		if status != 200 {
			t.Fatalf("GET %q = %d", to, status)
		}
		return body[strings.Index(body, `id="outcome"`):]
	}
	const call = "await clock.days_between({start: '2026-01-01', end: '2026-03-01'});\n"
	for name, tt := range map[string]struct {
		code         string
		want, absent []string
	}{
		"result":  {call + "console.log('one');\nreturn 1", []string{">Done<", `class="b-ok"`, "clock__days_between", `aria-label="Log"`, ">one<", `aria-label="Result"`, "1 call ·", ">Nothing<"}, []string{"Run failed", `role="note"`, " hint"}},
		"nothing": {"const a = 1;", []string{"No calls.", "Nothing returned.", ">1 hint<", "the code returned nothing: end with "}, []string{`aria-label="Result"`, `class="water"`}},
		"error":   {call + "throw new Error('no')", []string{">Run failed<", `data-line="2">Line 2, column`, `aria-label="Where it happened"`, "<mark>   2  throw", `class="b-ok"`}, []string{`aria-label="Result"`}},
		"slip":    {"return await clock.daysBetween({})", []string{">Run failed<", ">1 hint<", "did you mean clock.days_between?"}, nil},
		"failure": {"try { await clock.days_between({}) } catch {}\nreturn 1", []string{"Done with 1 failure", `class="b-bad"`, "Failed, "}, []string{"Run failed"}},
	} {
		body := run(tt.code)
		for _, want := range tt.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s: outcome lacks %s", name, want)
			}
		}
		for _, absent := range tt.absent {
			if strings.Contains(body, absent) {
				t.Errorf("%s: outcome has %s", name, absent)
			}
		}
	}
}

// TestTypeErrorsShown checks type errors of a stored outcome, as the compiler of
// a gateway reports them.
func TestTypeErrorsShown(t *testing.T) {
	a := routestest.NewAdmin(t)
	if _, _, to := a.Send(t, "/admin/projects/p/code-mode/run", url.Values{"code": {"1\n2\nreturn 3"}}); to == "" {
		t.Fatal("code did not run")
	}
	runs, err := a.Services.CodeRuns.List(t.Context(), projectID(t, a), "", 1)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs (%v)", len(runs), err)
	}
	at := "/admin/projects/p/code-mode?run=" + runs[0].ID
	show := func(outcome string, ok bool, query string) string {
		t.Helper()
		if err := a.Services.DB.Table("code_runs").Where("id = ?", runs[0].ID).Updates(map[string]any{"outcome": outcome, "ok": ok}).Error; err != nil {
			t.Fatal(err)
		}
		_, body, _ := a.Send(t, at+query, nil)
		return body
	}
	const text = "line 2, column 5: Type 'x' (TS2322)"
	warned := show(`{"logs":[{"level":"warn","text":"typecheck: `+text+`"},{"level":"log","text":"<b>"}]}`, true, "&typecheck=warn")
	rejected := show(fmt.Sprintf(`{"error":{"phase":%q,"name":"TypeError","message":%q,"line":2,"column":5}}`, sandbox.PhaseTypecheck, text), false, "&typecheck=error")
	for name, body := range map[string]string{"warning": warned, "error": rejected} {
		for _, want := range []string{"TypeScript · 1 type error", `data-line="2">Line 2, column 5<`, ">TS2322<", `data-lines="2`} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: page lacks %s", name, want)
			}
		}
	}
	if strings.Contains(warned, "typecheck: ") || !strings.Contains(warned, ">&lt;b&gt;<") {
		t.Error("log has the type error or lacks its own line")
	}
	// This gateway has no compiler, so nothing was checked.
	if body := show(`{}`, true, "&typecheck=warn"); !strings.Contains(body, "TypeScript<") {
		t.Error("types show as checked without a compiler")
	}
}
