package code_test

import (
	"net/url"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/codemode"
	"mcpgateway/services/sandbox"
)

func TestCodeModeSettingsSaved(t *testing.T) {
	a := routestest.NewAdmin(t)
	for _, c := range []struct {
		timeout string
		status  int
		ms      int64 // stored afterwards
	}{
		{"2.5", 303, 2500}, {"0.999", 422, 2500}, {"1", 303, 1000}, {"1.001", 303, 1001}, {"299.999", 303, 299_999}, {"300", 303, 300_000}, {"300.001", 422, 300_000},
		{"", 422, 300_000}, {"NaN", 422, 300_000}, {"1e400", 422, 300_000}, {"-5", 422, 300_000}, {"five", 422, 300_000},
	} {
		status, body, _ := a.Send(t, "/admin/projects/p/code-mode/settings", url.Values{"timeout": {c.timeout}, "enabled": {"on"}, "allowFetch": {"on"}})
		p, err := a.Services.Directory.Project("p")
		if err != nil {
			t.Fatal(err)
		}
		if status != c.status || p.Project.CodeModeTimeoutMS != c.ms || !p.Project.CodeModeEnabled || !p.Project.CodeModeAllowFetch {
			t.Errorf("%q: status %d, stored %+v", c.timeout, status, p.Project)
		}
		if status == 422 && (!strings.Contains(body, "from 1 to 300") || !strings.Contains(body, `value="`+c.timeout+`"`)) {
			t.Errorf("timeout %q: page lacks the range or the entered value", c.timeout)
		}
	}
	a.Send(t, "/admin/projects/p/code-mode/settings", url.Values{"timeout": {"300"}})
	if p, err := a.Services.Directory.Project("p"); err != nil || p.Project.CodeModeEnabled || p.Project.CodeModeAllowFetch {
		t.Errorf("omitted switches: project = %+v (%v), want both off", p, err)
	}
	var rows []models.AuditEntry
	if err := a.Services.DB.Where("action = ?", "project.updated").Order("seq DESC").Find(&rows).Error; err != nil {
		t.Fatal(err)
	}
	if len(rows) < 6 || rows[0].ActorKind != "user" || rows[0].ActorName != routestest.Administrator || rows[0].Project != "p" {
		t.Errorf("audit entries = %+v, want the administrator as actor", rows)
	}
}

func TestRunFormLimits(t *testing.T) {
	a := routestest.NewAdmin(t)
	code := func(n int) string { return "return 1 //" + strings.Repeat("x", n-len("return 1 //")) }
	input := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	for name, c := range map[string]struct {
		code, input string
		status      int
	}{
		"code below the limit":  {code(sandbox.MaxCode - 1), "", 303},
		"code at the limit":     {code(sandbox.MaxCode), "", 303},
		"code over the limit":   {code(sandbox.MaxCode + 1), "", 422},
		"no code":               {" \r\n", "", 422},
		"input below the limit": {"return 1", input(codemode.MaxInput - 1), 303},
		"input at the limit":    {"return 1", input(codemode.MaxInput), 303},
		"input over the limit":  {"return 1", input(codemode.MaxInput + 1), 422},
		"invalid JSON input":    {"return 1", "{a:1}", 422},
	} {
		status, _, to := a.Send(t, "/admin/projects/p/code-mode/run", url.Values{"code": {c.code}, "input": {c.input}})
		if status != c.status || (to != "") != (status == 303) {
			t.Errorf("%s: status = %d, location %q, want %d", name, status, to, c.status)
		}
	}
	a.Send(t, "/admin/projects/p/code-mode/settings", url.Values{"timeout": {"10"}})
	status, body, _ := a.Send(t, "/admin/projects/p/code-mode/run", url.Values{"code": {"return 1"}})
	if status != 422 || !strings.Contains(body, "Code Mode is off") {
		t.Errorf("run with Code Mode off: status = %d, want 422", status)
	}
}

func TestRunRecordsAdministrator(t *testing.T) {
	a := routestest.NewAdmin(t)
	const code = "const d = await clock.days_between({start: '2026-01-01', end: '2026-03-01'});\nconsole.log('<script>log\u202e');\nreturn {d, s: '<script>alert(1)</script>'}"
	status, _, to := a.Send(t, "/admin/projects/p/code-mode/run", url.Values{"code": {code}})
	if status != 303 {
		t.Fatalf("status %d", status)
	}
	_, page, _ := a.Send(t, to, nil)
	for _, unwanted := range []string{"<script>log", "<script>alert", "\u202e"} {
		if strings.Contains(page, unwanted) {
			t.Errorf("page contains %q", unwanted)
		}
	}
	if !strings.Contains(page, "clock__days_between") || !strings.Contains(page, "&lt;script&gt;alert(1)") {
		t.Error("page lacks the call or the result")
	}
	at, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	trace := "/admin/projects/p/code-mode/runs/" + at.Query().Get("run")
	if status, page, _ := a.Send(t, trace, nil); status != 200 || !strings.Contains(page, routestest.Administrator) {
		t.Errorf("run page: status = %d, or page lacks the administrator", status)
	}
	status, _, again := a.Send(t, trace+"/replay", url.Values{})
	if status != 303 || again == trace || !strings.HasPrefix(again, "/admin/projects/p/code-mode/runs/") {
		t.Errorf("replay: status = %d, location %q", status, again)
	}
	if status, _, _ := a.Send(t, "/admin/projects/p/code-mode/runs/no-such-run", nil); status != 404 {
		t.Errorf("unknown run: status = %d, want 404", status)
	}
}
