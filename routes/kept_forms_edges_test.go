package routes_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/access/oidctest"
	"mcpgateway/services/secrets"
	"mcpgateway/web/guard"
)

// wantKeys fails the test unless the project p has want keys.
func (w *formWorld) wantKeys(t *testing.T, want int) {
	t.Helper()
	keys, err := w.Services.Keys.List(t.Context(), w.project.ID)
	if err != nil || len(keys) != want {
		t.Errorf("project has %d keys, want %d; %v", len(keys), want, err)
	}
}

const keysForm = "/admin/projects/p/keys"

func newKeyForm() url.Values { return values("name", "Ada's laptop", "expires", "90") }

func TestFormSurvivesWrongPasswords(t *testing.T) {
	w := newFormWorld(t)
	w.expireConfirmations(t)
	got := w.post(t, keysForm, newKeyForm())
	for range 2 {
		refused := w.confirm(t, got, "/login/again", url.Values{"password": {"not the password"}})
		if refused.Status != http.StatusUnprocessableEntity || hiddenField(t, refused.Body, "form") == "" || !strings.Contains(refused.Body, "create the key <strong>Ada&#39;s laptop</strong>") {
			t.Fatalf("wrong password: status %d", refused.Status)
		}
	}
	w.wantKeys(t, 0)
	done := w.confirm(t, got, "/login/again", url.Values{"password": {password}})
	if done.Status != http.StatusSeeOther || !strings.HasPrefix(done.Location, keysForm+"/") {
		t.Errorf("correct password: %d %q", done.Status, done.Location)
	}
	w.wantKeys(t, 1)

	// Sending the confirmation page again repeats nothing.
	again := w.confirm(t, got, "/login/again", url.Values{"password": {password}})
	if again.Location != "/admin/people?query=x" || !strings.Contains(again.Flash, "wasn't sent") {
		t.Errorf("sent again: %q %q", again.Location, again.Flash)
	}
	w.wantKeys(t, 1)
}

func TestStoredFormBoundToUser(t *testing.T) {
	w := newFormWorld(t)
	const other = "bob@example.com"
	if _, err := w.Services.People.Create(t.Context(), access.NewUser{Email: other, Role: models.RoleAdmin, Password: secrets.NewValue(password)}); err != nil {
		t.Fatal(err)
	}
	w.expireSessions(t)
	got := w.post(t, keysForm, newKeyForm())
	bob := w.confirm(t, got, "/login", url.Values{"email": {other}, "password": {password}})
	if bob.Status != http.StatusSeeOther || bob.Location != "/admin/people?query=x" || !strings.Contains(bob.Flash, "wasn't sent") {
		t.Errorf("another person: %d %q %q", bob.Status, bob.Location, bob.Flash)
	}
	w.wantKeys(t, 0)
}

func TestOnlyOwnFormsAreStored(t *testing.T) {
	w := newFormWorld(t)
	w.expireSessions(t)
	kept := func() (n int64) {
		if err := w.Services.DB.Model(&models.KeptForm{}).Count(&n).Error; err != nil {
			t.Fatal(err)
		}
		return n
	}
	withToken := newKeyForm()
	withToken.Set("csrf", w.csrf)
	wrongToken := newKeyForm()
	wrongToken.Set("csrf", strings.Repeat("A", len(w.csrf)))
	for _, tt := range []struct {
		name   string
		path   string
		form   url.Values
		header []string
		want   int64
	}{
		{"another site", keysForm, withToken, []string{"Sec-Fetch-Site", "cross-site"}, 0},
		{"another site, without Fetch Metadata", keysForm, withToken, []string{"Sec-Fetch-Site", "", "Origin", "https://evil.example"}, 0},
		{"no token", keysForm, newKeyForm(), nil, 0},
		{"wrong token", keysForm, wrongToken, nil, 0},
		{"not of the administration", "/logout", withToken, nil, 0},
		{"consent", "/oauth/authorize", withToken, nil, 0},
		{"no cookie", keysForm, withToken, []string{"Cookie", "x=y"}, 0},
		{"own page", keysForm, withToken, nil, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &browser{App: w.App, cookies: map[string]string{"sid": w.cookies["sid"]}, csrf: w.csrf}
			if tt.name == "no cookie" {
				b.cookies = map[string]string{}
			}
			got := b.send(t, tt.path, tt.form, tt.header...)
			if got.Status != http.StatusSeeOther || !strings.HasPrefix(got.Location, "/login") || strings.Contains(got.Location, "form=") != (tt.want == 1) {
				t.Errorf("response %d %q", got.Status, got.Location)
			}
			if n := kept(); n != tt.want {
				t.Errorf("%d stored forms, want %d", n, tt.want)
			}
		})
	}
	w.wantKeys(t, 0)
}

func TestFormOfEndedSessionNotStored(t *testing.T) {
	w := newFormWorld(t)
	if err := w.Services.DB.Model(&models.BrowserSession{}).Where("1 = 1").Update("revoked_at", time.Now().UTC()).Error; err != nil {
		t.Fatal(err)
	}
	if got := w.post(t, keysForm, newKeyForm()); strings.Contains(got.Location, "form=") {
		t.Errorf("redirect to %q", got.Location)
	}
}

func TestOpenPagesValidAfterConfirmation(t *testing.T) {
	w := newFormWorld(t)
	w.expireConfirmations(t)
	old := w.csrf
	w.confirm(t, w.post(t, keysForm, newKeyForm()), "/login/again", url.Values{"password": {password}})
	w.csrf = old // the token of a page in another window
	if got := w.post(t, keysForm, newKeyForm()); got.Status != http.StatusSeeOther || !strings.HasPrefix(got.Location, keysForm+"/") {
		t.Errorf("after a confirmation: %d %q", got.Status, got.Location)
	}
	w.expireSessions(t)
	w.confirm(t, w.post(t, keysForm, newKeyForm()), "/login", url.Values{"email": {formAdmin}, "password": {password}})
	w.wantKeys(t, 2) // the form is only filled in
	if got := w.post(t, keysForm, newKeyForm()); got.Status != http.StatusSeeOther || !strings.HasPrefix(got.Location, keysForm+"/") {
		t.Errorf("after signing in again: %d %q", got.Status, got.Location)
	}
	w.wantKeys(t, 3)
}

// TestConfirmInPlace posts a form as the script does before it sends it.
func TestConfirmInPlace(t *testing.T) {
	w := newFormWorld(t)
	ask := func(path string, form url.Values) page {
		form.Set("csrf", w.csrf)
		return w.send(t, path, form, "X-Confirm", "1")
	}
	if got := ask(keysForm, newKeyForm()); got.Status != http.StatusNoContent {
		t.Errorf("no confirmation due: status %d", got.Status)
	}
	w.expireConfirmations(t)
	got := ask(keysForm, newKeyForm())
	for _, want := range []string{"data-confirm", "create the key <strong>Ada&#39;s laptop</strong>", "Confirm and create key", "Password for " + formAdmin} {
		if got.Status != http.StatusForbidden || !strings.Contains(got.Body, want) {
			t.Errorf("confirmation due: status %d, dialog lacks %q", got.Status, want)
		}
	}
	if got := ask("/admin/projects/p/servers/"+w.ServerID(t, "p", "clock")+"/delete", url.Values{}); got.Status != http.StatusForbidden {
		t.Errorf("form of another guard: status %d", got.Status)
	}
	got = w.post(t, "/login/again", values("dialog", "1", "verb", "create the key", "name", "Ada's laptop", "button", "create key", "password", "wrong"))
	if got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, "That password isn&#39;t right. Try again.") || !strings.Contains(got.Body, "Confirm and create key") {
		t.Errorf("wrong password: status %d", got.Status)
	}
	if got := w.post(t, "/login/again", values("dialog", "1", "password", password)); got.Status != http.StatusNoContent {
		t.Errorf("correct password: status %d", got.Status)
	}
	w.wantKeys(t, 0)
	if _, err := w.Services.Directory.Project("p"); err != nil || w.ServerID(t, "p", "clock") == "" {
		t.Error("asking had an effect")
	}
	if got := w.post(t, keysForm, newKeyForm()); !strings.HasPrefix(got.Location, keysForm+"/") {
		t.Errorf("form redirects to %q", got.Location)
	}
	w.expireSessions(t)
	if got := ask(keysForm, newKeyForm()); got.Status != http.StatusNoContent {
		t.Errorf("expired session: status %d", got.Status)
	}
}

// TestDraftFillsForm loses the session on the page of a form.
func TestDraftFillsForm(t *testing.T) {
	w := newFormWorld(t)
	w.expireSessions(t)
	form := values("email", "late@example.com", "name", `Late "<b>"`, "role", "member", "csrf", w.csrf)
	in := w.confirm(t, w.send(t, "/admin/people", form, "Referer", "http://127.0.0.1:8080/admin/people/invite"), "/login", url.Values{"email": {formAdmin}, "password": {password}})
	if !strings.HasPrefix(in.Location, "/admin/people/invite?draft=") {
		t.Fatalf("redirect to %q", in.Location)
	}
	for range 2 { // reloading the page fills it again
		w.draft(t, in, "/admin/people", form)
	}
	if people, err := w.Services.People.List(t.Context()); err != nil || len(people) != 1 {
		t.Errorf("%d people, %v", len(people), err)
	}
	w.expireConfirmations(t)
	if got := w.send(t, in.Location, nil); !strings.Contains(got.Body, "late@example.com") {
		t.Error("draft is gone")
	}
	viewer, _ := w.as(t, models.RoleViewer)
	if got := viewer.send(t, strings.Replace(in.Location, "/invite", "", 1), nil); got.Status != http.StatusOK || strings.Contains(got.Body, "late@example.com") {
		t.Errorf("another user sees the draft, status %d", got.Status)
	}
}

func TestStoredFormSize(t *testing.T) {
	w := newFormWorld(t)
	w.expireConfirmations(t)
	for _, size := range []int{guard.MaxForm - 1, guard.MaxForm, guard.MaxForm + 1} {
		form := url.Values{"csrf": {w.csrf}, "pad": {""}}
		form.Set("pad", strings.Repeat("x", size-len(form.Encode())))
		got := w.send(t, keysForm, form, "Referer", "http://127.0.0.1:8080"+keysForm)
		if kept := strings.Contains(got.Location, "form="); got.Status != http.StatusSeeOther || kept != (size <= guard.MaxForm) || kept == strings.Contains(got.Location, "large=1") {
			t.Errorf("%d bytes: %d %q", size, got.Status, got.Location)
		}
		if size > guard.MaxForm {
			if shown := w.send(t, got.Location, nil); !strings.Contains(shown.Body, "too large to keep") {
				t.Error("page does not tell that the form is lost")
			}
			done := w.post(t, "/login/again", values("next", keysForm, "large", "1", "password", password))
			if done.Location != keysForm || !strings.Contains(done.Flash, "too large") {
				t.Errorf("after the confirmation: %q %q", done.Location, done.Flash)
			}
		}
	}
}

// TestHtmxFormIsStored posts the switch of a tool as htmx does.
func TestHtmxFormIsStored(t *testing.T) {
	w := newFormWorld(t)
	w.expireSessions(t)
	form := values("csrf", w.csrf, "enabled", "false")
	request := httptest.NewRequest(http.MethodPost, "/admin/projects/p/tools/clock__current_time/enabled", strings.NewReader(form.Encode()))
	request.Host = "127.0.0.1:8080"
	for name, value := range map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin", "HX-Request": "true", "HX-Current-URL": "http://127.0.0.1:8080/admin/projects/p/tools?query=x"} {
		request.Header.Set(name, value)
	}
	request.AddCookie(&http.Cookie{Name: "sid", Value: w.cookies["sid"]})
	answer, err := w.Test(request, 60_000)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	got := w.confirm(t, page{Status: http.StatusSeeOther, Location: answer.Header.Get("HX-Redirect")}, "/login", url.Values{"email": {formAdmin}, "password": {password}})
	if got.Status != http.StatusSeeOther || !strings.HasPrefix(got.Location, "/admin/projects/p/tools?query=x&draft=") {
		t.Errorf("redirect %d to %q", got.Status, got.Location)
	}
	if last := w.audited(t); strings.HasPrefix(last[len(last)-1], "tool.disabled") {
		t.Errorf("last audit entry = %q", last[len(last)-1])
	}
	w.draft(t, got, "/admin/projects/p/tools/clock__current_time/enabled", form)
}

// TestFileFormIsStored uploads a file after the session expired.
func TestFileFormIsStored(t *testing.T) {
	w := newFormWorld(t)
	w.expireSessions(t)
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	_ = parts.WriteField("csrf", w.csrf)
	file, err := parts.CreateFormFile("file", "gateway.json")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = file.Write([]byte(`{"projects":{"uploaded":{"authMode":"none","mcpServers":{}}}}`))
	_ = parts.Close()
	request := httptest.NewRequest(http.MethodPost, "/admin/import", &body)
	request.Host = "127.0.0.1:8080"
	request.Header.Set("Content-Type", parts.FormDataContentType())
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	request.Header.Set("Referer", "http://127.0.0.1:8080/admin/import")
	request.AddCookie(&http.Cookie{Name: "sid", Value: w.cookies["sid"]})
	answer, err := w.Test(request, 60_000)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	got := w.confirm(t, page{Status: answer.StatusCode, Location: answer.Header.Get("Location")}, "/login", url.Values{"email": {formAdmin}, "password": {password}})
	if shown := w.send(t, got.Location, nil); !strings.Contains(got.Location, "draft=") || !strings.Contains(shown.Body, "Choose the file again.") || strings.Contains(shown.Body, "uploaded") {
		t.Errorf("after the sign-in: %d %q, status %d", got.Status, got.Location, shown.Status)
	}
}

// TestFormSentAfterSingleSignOn confirms and signs in with an identity provider.
// A confirmation sends the form, a sign-in fills it.
func TestFormSentAfterSingleSignOn(t *testing.T) {
	provider := oidctest.NewFake(t, time.Now)
	provider.Behave(oidctest.Behavior{Token: func(_, claims map[string]any) {
		claims["email"], claims["email_verified"] = "grace@example.com", true
	}})
	a := routestest.New(t, modelstest.SQLite(t),
		"GATEWAY_OIDC_ISSUER="+provider.Issuer, "GATEWAY_OIDC_CLIENT_ID="+oidctest.ClientID, "GATEWAY_OIDC_CLIENT_SECRET="+oidctest.ClientSecret)
	a.Apply(t, `{"projects":{"p":{"mcpServers":{}}}}`)
	if _, err := a.Services.People.Create(t.Context(), access.NewUser{Email: "grace@example.com", Role: models.RoleAdmin}); err != nil {
		t.Fatal(err)
	}
	project, err := a.Services.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	w := &formWorld{browser: &browser{App: a, cookies: map[string]string{}}, project: &project.Project}
	follow := func(link string) page {
		started := w.send(t, link, nil)
		code, asked := provider.Approve(t, started.Location)
		return w.send(t, "/login/callback?"+url.Values{"state": {asked.Get("state")}, "code": {code}}.Encode(), nil, "Sec-Fetch-Site", "cross-site")
	}
	if got := follow("/login/sso?next=" + keysForm); got.Location != keysForm {
		t.Fatalf("first sign-in: %d %q", got.Status, got.Location)
	}
	w.csrf = hiddenField(t, w.send(t, keysForm, nil).Body, "csrf")
	for n, grow := range []func(*testing.T){w.expireConfirmations, w.expireSessions} {
		grow(t)
		asked := w.send(t, w.post(t, keysForm, newKeyForm()).Location, nil)
		link := regexp.MustCompile(`href="(/login/sso[^"]*)"`).FindStringSubmatch(asked.Body)
		if link == nil {
			t.Fatalf("no link to the provider, status %d", asked.Status)
		}
		got := follow(strings.ReplaceAll(link[1], "&amp;", "&"))
		if n == 0 && (got.Status != http.StatusSeeOther || !strings.HasPrefix(got.Location, keysForm+"/")) {
			t.Errorf("after the provider: %d %q %q", got.Status, got.Location, got.Flash)
		}
		if n == 1 {
			w.draft(t, got, keysForm, newKeyForm())
		}
		w.wantKeys(t, 1)
	}
}
