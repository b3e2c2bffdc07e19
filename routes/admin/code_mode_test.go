package admin_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"mcpgateway/cmd/gateway/demo"
	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/codemode"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web"
)

// administrator is who is signed in.
const administrator = "ada@example.com"

// codePages is an application with a project and somebody who is signed in.
type codePages struct {
	*routestest.App
	cookie, csrf string
}

func newCodePages(t *testing.T) *codePages {
	t.Helper()
	return newCodePagesOn(t, "sqlite:"+filepath.Join(t.TempDir(), "gateway.db"))
}

func newCodePagesOn(t *testing.T, dsn string) *codePages {
	t.Helper()
	clock := upstreamtest.New(demo.Servers()[0])
	app := routestest.New(t, dsn)
	app.Apply(t, fmt.Sprintf(`{"projects":{"p":{"authMode":"api_key","codeMode":{"enabled":true,"timeout":10000},"mcpServers":{"clock":{"url":%q}}}}}`, clock.Start(t)))
	app.Sync(t, "p", "clock")
	password := secrets.NewValue("a long password of the tests")
	if _, err := app.Services.People.Create(t.Context(), access.NewPerson{Email: administrator, Role: models.RoleAdmin, Password: password}); err != nil {
		t.Fatal(err)
	}
	in, err := app.Services.People.SignIn(t.Context(), administrator, password, access.Browser{IP: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return &codePages{App: app, cookie: in.Cookie.Reveal(), csrf: web.MaskToken(in.Session.CSRF)}
}

// send sends a form, or asks for a page without one, and returns the answer's
// status, body and Location.
func (a *codePages) send(t *testing.T, path string, form url.Values) (status int, body, location string) {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, path, nil)
	if form != nil {
		form.Set("csrf", a.csrf)
		request = httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	request.Host = "127.0.0.1:8080"
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	request.AddCookie(&http.Cookie{Name: "sid", Value: a.cookie})
	answer, err := a.Test(request, 60_000)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(raw), answer.Header.Get("Location")
}

func TestCodeModeSettingsAreBoundedSavedAndRecorded(t *testing.T) {
	a := newCodePages(t)
	for _, c := range []struct {
		timeout string
		status  int
		ms      int64 // that is stored afterwards
	}{
		{"2.5", 303, 2500}, {"0.999", 422, 2500}, {"1", 303, 1000}, {"1.001", 303, 1001}, {"299.999", 303, 299_999}, {"300", 303, 300_000}, {"300.001", 422, 300_000},
		{"", 422, 300_000}, {"NaN", 422, 300_000}, {"1e400", 422, 300_000}, {"-5", 422, 300_000}, {"five", 422, 300_000},
	} {
		status, body, _ := a.send(t, "/admin/projects/p/code-mode", url.Values{"timeout": {c.timeout}, "enabled": {"on"}, "allowFetch": {"on"}})
		p, err := a.Services.Directory.Project("p")
		if err != nil {
			t.Fatal(err)
		}
		if status != c.status || p.Project.CodeModeTimeoutMS != c.ms || !p.Project.CodeModeEnabled || !p.Project.CodeModeAllowFetch {
			t.Errorf("%q: status %d, stored %+v", c.timeout, status, p.Project)
		}
		if status == 422 && (!strings.Contains(body, "from 1 to 300") || !strings.Contains(body, `value="`+c.timeout+`"`)) {
			t.Errorf("%q: the page does not say why, or has lost what was typed", c.timeout)
		}
	}
	a.send(t, "/admin/projects/p/code-mode", url.Values{"timeout": {"300"}})
	if p, err := a.Services.Directory.Project("p"); err != nil || p.Project.CodeModeEnabled || p.Project.CodeModeAllowFetch {
		t.Errorf("switches that are not sent are not off: %+v (%v)", p, err)
	}
	var rows []models.AuditEntry
	if err := a.Services.DB.Where("action = ?", "project.updated").Order("seq DESC").Find(&rows).Error; err != nil {
		t.Fatal(err)
	}
	if len(rows) < 6 || rows[0].ActorKind != "user" || rows[0].ActorName != administrator || rows[0].Project != "p" {
		t.Errorf("the change is not recorded as the administrator's: %+v", rows)
	}
}

func TestCodeOfTheFormIsBounded(t *testing.T) {
	a := newCodePages(t)
	code := func(n int) string { return "return 1 //" + strings.Repeat("x", n-len("return 1 //")) }
	input := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	for name, c := range map[string]struct {
		code, input string
		status      int
	}{
		"code below the limit":  {code(codemode.MaxCode - 1), "", 303},
		"code at the limit":     {code(codemode.MaxCode), "", 303},
		"code over the limit":   {code(codemode.MaxCode + 1), "", 422},
		"no code":               {" \r\n", "", 422},
		"input below the limit": {"return 1", input(codemode.MaxInput - 1), 303},
		"input at the limit":    {"return 1", input(codemode.MaxInput), 303},
		"input over the limit":  {"return 1", input(codemode.MaxInput + 1), 422},
		"input that is no JSON": {"return 1", "{a:1}", 422},
	} {
		status, _, to := a.send(t, "/admin/projects/p/code-mode/run", url.Values{"code": {c.code}, "input": {c.input}})
		if status != c.status || (to != "") != (status == 303) {
			t.Errorf("%s: %d to %q", name, status, to)
		}
	}
	a.send(t, "/admin/projects/p/code-mode", url.Values{"timeout": {"10"}})
	status, body, _ := a.send(t, "/admin/projects/p/code-mode/run", url.Values{"code": {"return 1"}})
	if status != 422 || !strings.Contains(body, "Code Mode is off") {
		t.Errorf("code ran while Code Mode is off: %d", status)
	}
}

func TestARunOfAnAdministratorIsKeptUnderTheirName(t *testing.T) {
	a := newCodePages(t)
	const code = "const d = await clock.days_between({start: '2026-01-01', end: '2026-03-01'});\nconsole.log('<script>log\u202e');\nreturn {d, s: '<script>alert(1)</script>'}"
	status, _, to := a.send(t, "/admin/projects/p/code-mode/run", url.Values{"code": {code}})
	if status != 303 {
		t.Fatalf("status %d", status)
	}
	_, page, _ := a.send(t, to, nil)
	for _, unwanted := range []string{"<script>log", "<script>alert", "\u202e"} {
		if strings.Contains(page, unwanted) {
			t.Errorf("the page holds %q", unwanted)
		}
	}
	if !strings.Contains(page, "clock__days_between") || !strings.Contains(page, "&lt;script&gt;alert(1)") {
		t.Error("the page does not show the call and the result")
	}
	at, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	trace := "/admin/projects/p/code-mode/runs/" + at.Query().Get("run")
	if status, page, _ := a.send(t, trace, nil); status != 200 || !strings.Contains(page, administrator) {
		t.Errorf("the run's page answers %d and does not name who ran it", status)
	}
	status, _, again := a.send(t, trace+"/replay", url.Values{})
	if status != 303 || again == trace || !strings.HasPrefix(again, "/admin/projects/p/code-mode/runs/") {
		t.Errorf("replay: %d to %q", status, again)
	}
	if status, _, _ := a.send(t, "/admin/projects/p/code-mode/runs/no-such-run", nil); status != 404 {
		t.Errorf("an unknown run: %d", status)
	}
}
