package routes_test

import (
	"html"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/access/factors"
	"mcpgateway/services/access/factors/factorstest"
	"mcpgateway/services/secrets"
)

const passkeyOrigin = "http://localhost:8080"

// factorWorld is an application at which browsers allow passkeys, and the
// browser of a user.
type factorWorld struct {
	*browser
	person access.User
	secret string // of the user's authenticator app
	codes  []string
	device *factorstest.Device
}

// newFactorWorld returns an application with a user who hasn't signed in.
func newFactorWorld(t *testing.T, dsn string, role models.Role, settings ...string) *factorWorld {
	t.Helper()
	a := routestest.New(t, dsn, append(settings, "GATEWAY_PUBLIC_URL="+passkeyOrigin)...)
	person, err := a.Services.People.Create(t.Context(), access.NewUser{Email: formAdmin, Role: role, Password: secrets.NewValue(password)})
	if err != nil {
		t.Fatal(err)
	}
	return &factorWorld{browser: &browser{App: a, cookies: map[string]string{}}, person: person, device: factorstest.NewDevice(t, passkeyOrigin, "localhost")}
}

// addApp adds an authenticator app of a user without a browser, and returns its
// secret.
func addApp(t *testing.T, a *routestest.App, person access.User) string {
	t.Helper()
	who := factors.Person{ID: person.ID, Email: person.Email}
	setup, err := a.Services.Factors.NewApp(who, "s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Services.Factors.AddApp(t.Context(), who, "s", setup.State, "Phone", factorstest.Code(t, setup.Secret.Reveal(), time.Now())); err != nil {
		t.Fatal(err)
	}
	return setup.Secret.Reveal()
}

// forgetSteps allows the current code again, as if time had passed.
func (w *factorWorld) forgetSteps(t *testing.T) {
	t.Helper()
	if err := w.Services.DB.Model(&models.AuthenticatorApp{}).Where("true").Update("last_step", 0).Error; err != nil {
		t.Fatal(err)
	}
}

// code returns what the user's app shows.
func (w *factorWorld) code(t *testing.T) string { return factorstest.Code(t, w.secret, time.Now()) }

// login sends the password from a browser without a session.
func (w *factorWorld) login(t *testing.T) page {
	t.Helper()
	delete(w.cookies, "sid")
	return w.send(t, "/login", values("email", formAdmin, "password", password, "next", "/me/account"))
}

// token reads the session's token for forms from a page.
func (w *factorWorld) token(t *testing.T) {
	t.Helper()
	w.csrf = hiddenField(t, w.send(t, "/me/security", nil).Body, "csrf")
}

// wantSession fails the test unless a page leads to the page after the sign-in,
// with a session.
func (w *factorWorld) wantSession(t *testing.T, what string, got page) {
	t.Helper()
	if got.Status != http.StatusSeeOther || got.Location != "/me/account" || w.cookies["sid"] == "" {
		t.Fatalf("%s: status %d to %q", what, got.Status, got.Location)
	}
	if shown := w.send(t, "/me/account", nil); shown.Status != http.StatusOK {
		t.Fatalf("%s: account %d", what, shown.Status)
	}
	w.token(t)
}

// wantNoSession fails the test unless a page reports an error without a session.
func (w *factorWorld) wantNoSession(t *testing.T, what string, got page, status int, text string) {
	t.Helper()
	if got.Status != status || !strings.Contains(got.Body, text) || w.cookies["sid"] != "" {
		t.Errorf("%s: status %d without %q, session %v", what, got.Status, text, w.cookies["sid"] != "")
	}
}

// setUpApp adds an authenticator app in the browser.
func (w *factorWorld) setUpApp(t *testing.T) page {
	t.Helper()
	shown := w.send(t, "/me/security/app", nil)
	key := regexp.MustCompile(`<code[^>]*>([A-Z2-7 ]{32,})</code>`).FindStringSubmatch(shown.Body)
	if shown.Status != http.StatusOK || key == nil || !strings.Contains(shown.Body, `<svg class="qr"`) {
		t.Fatalf("page of a new app: %d", shown.Status)
	}
	w.secret = strings.ReplaceAll(key[1], " ", "")
	form := values("state", hiddenField(t, shown.Body, "state"), "name", "Phone", "code", "000000")
	again := w.post(t, "/me/security/apps", form)
	if again.Status != http.StatusUnprocessableEntity || !strings.Contains(again.Body, key[1]) || !strings.Contains(again.Body, "That code isn&#39;t right") {
		t.Errorf("wrong first code: %d", again.Status)
	}
	form.Set("code", w.code(t))
	return w.post(t, "/me/security/apps", form)
}

// passkey completes the form of a page that uses or creates a passkey.
func (w *factorWorld) passkey(t *testing.T, body, path string, use func(t testing.TB, options string) string) url.Values {
	t.Helper()
	at := strings.Index(body, `action="`+path+`"`)
	options := regexp.MustCompile(`<pass-key data-options="([^"]*)"`).FindAllStringSubmatch(body[:max(at, 0)], -1)
	if at < 0 || len(options) == 0 {
		t.Fatalf("page has no passkey form for %s", path)
	}
	form := formFields(t, body, path)
	form.Set("credential", use(t, html.UnescapeString(options[len(options)-1][1])))
	return form
}

func TestSecondFactorInBrowser(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newFactorWorld(t, dsn, models.RoleAdmin)
		w.wantSession(t, "password without a factor", w.login(t))
		for _, part := range []struct {
			name string
			run  func(t *testing.T, w *factorWorld)
		}{
			{"app is set up", testSetUp}, {"code signs in once", testCodeSignsIn}, {"recovery code signs in once", testRecoveryCode},
			{"passkey is added and signs in", testPasskey}, {"confirmation", testConfirmation}, {"factors are renamed and removed", testManage},
		} {
			if !t.Run(part.name, func(t *testing.T) { part.run(t, w) }) {
				return
			}
		}
	})
}

func testSetUp(t *testing.T, w *factorWorld) {
	got := w.setUpApp(t)
	if got.Status != http.StatusSeeOther || got.Location != "/me/security/codes" {
		t.Fatalf("right first code: %d %q", got.Status, got.Location)
	}
	shown := w.send(t, "/me/security/codes", nil, "Accept-Encoding", "br, gzip")
	w.codes = regexp.MustCompile(`[a-z2-7]{4}(?:-[a-z2-7]{4}){3}`).FindAllString(shown.Body, -1)
	if len(w.codes) != factors.RecoveryCodes {
		t.Fatalf("page shows %d codes, or is compressed", len(w.codes))
	}
	if file := w.send(t, "/me/security/codes?download=1", nil); file.Body != strings.Join(w.codes, "\n")+"\n" {
		t.Errorf("file %q", file.Body)
	}
	other := &browser{App: w.App, cookies: map[string]string{"sid": w.cookies["sid"]}}
	if got := other.send(t, "/me/security/codes", nil); got.Location != "/me/security" {
		t.Errorf("codes without their cookie: %d %q", got.Status, got.Location)
	}
	if page := w.send(t, "/me/security", nil); !strings.Contains(page.Body, "10 of 10 codes left") || !strings.Contains(page.Body, "Phone") {
		t.Error("page lacks the new factor")
	}
}

func testCodeSignsIn(t *testing.T, w *factorWorld) {
	step := w.login(t)
	if step.Status != http.StatusSeeOther || !strings.HasPrefix(step.Location, "/login/second?") || w.cookies["sid"] != "" {
		t.Fatalf("password: %d %q", step.Status, step.Location)
	}
	form := formFields(t, w.send(t, step.Location, nil).Body, "/login/second")
	for _, wrong := range []string{"", "123", "abcd-efgh-ijkl-mnop"} {
		form.Set("code", wrong)
		w.wantNoSession(t, "wrong code", w.send(t, "/login/second", form), http.StatusUnprocessableEntity, "That code isn&#39;t right")
	}
	form.Set("code", w.code(t))
	w.wantNoSession(t, "code of the setup", w.send(t, "/login/second", form), http.StatusUnprocessableEntity, "already used")
	w.forgetSteps(t)
	form.Set("code", w.code(t))
	cookie := w.cookies["step"]
	w.wantSession(t, "code", w.send(t, "/login/second", form))

	delete(w.cookies, "sid")
	w.cookies["step"] = cookie
	w.forgetSteps(t)
	form.Set("code", w.code(t))
	if again := w.send(t, "/login/second", form); !strings.HasPrefix(again.Location, "/login?") || w.cookies["sid"] != "" {
		t.Errorf("completed sign-in again: %d %q", again.Status, again.Location)
	}
	delete(w.cookies, "step")
	if stranger := w.send(t, "/login/second", form); !strings.HasPrefix(stranger.Location, "/login?") || w.cookies["sid"] != "" {
		t.Errorf("another browser: %d %q", stranger.Status, stranger.Location)
	}
}

func testRecoveryCode(t *testing.T, w *factorWorld) {
	form := formFields(t, w.send(t, w.login(t).Location, nil).Body, "/login/second")
	form.Set("code", strings.ToUpper(w.codes[0]))
	got := w.send(t, "/login/second", form)
	w.wantSession(t, "recovery code", got)
	if !strings.Contains(got.Flash, "9 of 10 are left") {
		t.Errorf("flash %q", got.Flash)
	}
	form = formFields(t, w.send(t, w.login(t).Location, nil).Body, "/login/second")
	form.Set("code", w.codes[0])
	w.wantNoSession(t, "used recovery code", w.send(t, "/login/second", form), http.StatusUnprocessableEntity, "That code isn&#39;t right")
	form.Set("code", w.codes[1])
	w.wantSession(t, "another recovery code", w.send(t, "/login/second", form))
}

func testPasskey(t *testing.T, w *factorWorld) {
	form := w.passkey(t, w.send(t, "/me/security/passkey", nil).Body, "/me/security/passkeys", w.device.Create)
	form.Set("name", "Laptop")
	if got := w.post(t, "/me/security/passkeys", form); got.Location != "/me/security" || !strings.Contains(got.Flash, "added") {
		t.Fatalf("new passkey: %d %q %q", got.Status, got.Location, got.Flash)
	}
	if got := w.post(t, "/me/security/passkeys", form); got.Location != "/me/security/passkey" {
		t.Errorf("same passkey again: %d %q", got.Status, got.Location)
	}

	delete(w.cookies, "sid")
	form = w.passkey(t, w.send(t, "/login?next=/me/account", nil).Body, "/login/passkey", w.device.Get)
	w.wantSession(t, "passkey alone", w.send(t, "/login/passkey", form))
	delete(w.cookies, "sid")
	w.wantNoSession(t, "same response again", w.send(t, "/login/passkey", form), http.StatusUnprocessableEntity, "accepted")
	w.wantNoSession(t, "nothing", w.send(t, "/login/passkey", values("next", "/me/account")), http.StatusUnprocessableEntity, "expired")

	form = w.passkey(t, w.send(t, w.login(t).Location, nil).Body, "/login/second/passkey", w.device.Get)
	w.wantSession(t, "passkey after the password", w.send(t, "/login/second/passkey", form))
}

func testConfirmation(t *testing.T, w *factorWorld) {
	ask := func() string {
		w.expireConfirmations(t)
		got := w.send(t, "/me/security/app", nil)
		if got.Status != http.StatusSeeOther || !strings.HasPrefix(got.Location, "/login/again?") {
			t.Fatalf("without a confirmation: %d %q", got.Status, got.Location)
		}
		return w.send(t, got.Location, nil).Body
	}
	form := w.passkey(t, ask(), "/login/again/passkey", w.device.Get)
	if got := w.post(t, "/login/again/passkey", form); got.Location != "/me/security/app" {
		t.Errorf("passkey: %d %q", got.Status, got.Location)
	}
	form = formFields(t, ask(), "/login/again")
	form.Set("password", password)
	for _, wrong := range []string{"", "12345"} {
		form.Set("code", wrong)
		if got := w.post(t, "/login/again", form); got.Status != http.StatusUnprocessableEntity {
			t.Errorf("password with the code %q: %d", wrong, got.Status)
		}
	}
	w.forgetSteps(t)
	form.Set("code", w.code(t))
	if got := w.post(t, "/login/again", form); got.Location != "/me/security/app" {
		t.Errorf("password and code: %d %q", got.Status, got.Location)
	}

	w.expireConfirmations(t)
	dialog := w.post(t, "/me/security/codes", url.Values{})
	if !strings.HasPrefix(dialog.Location, "/login/again?") {
		t.Fatalf("new codes without a confirmation: %d %q", dialog.Status, dialog.Location)
	}
	shown := w.send(t, dialog.Location, nil)
	if !strings.Contains(shown.Body, "create new recovery codes") {
		t.Error("page doesn't name the action")
	}
	form = w.passkey(t, shown.Body, "/login/again/passkey", w.device.Get)
	if got := w.post(t, "/login/again/passkey", form); got.Location != "/me/security/codes" {
		t.Errorf("kept form: %d %q", got.Status, got.Location)
	}
}

func testManage(t *testing.T, w *factorWorld) {
	set, err := w.Services.Factors.Of(t.Context(), w.person.ID)
	if err != nil || len(set.Factors) != 2 || set.Codes != factors.RecoveryCodes {
		t.Fatalf("factors %+v, %v", set, err)
	}
	for i, f := range set.Factors {
		at := "/me/security/factors/" + f.ID
		if got := w.post(t, at+"/rename", values("name", "Renamed")); !strings.Contains(got.Flash, "Renamed") {
			t.Errorf("rename: %d %q", got.Status, got.Flash)
		}
		if got := w.post(t, at+"/rename", values("name", " ")); !strings.Contains(got.Flash, "name") {
			t.Errorf("rename to nothing: %d %q", got.Status, got.Flash)
		}
		if i == 0 && !strings.Contains(w.send(t, "/me/security", nil).Body, ">Renamed<") {
			t.Error("page lacks the new name")
		}
		if got := w.post(t, at+"/remove", url.Values{}); !strings.Contains(got.Flash, "Removed") {
			t.Errorf("remove: %d %q", got.Status, got.Flash)
		}
		if got := w.post(t, at+"/remove", url.Values{}); got.Status != http.StatusNotFound {
			t.Errorf("remove again: %d", got.Status)
		}
	}
	w.wantSession(t, "password after the last factor was removed", w.login(t))
}

func TestAdministratorRemovesFactors(t *testing.T) {
	w := newFactorWorld(t, "sqlite:"+filepath.Join(t.TempDir(), "gateway.db"), models.RoleAdmin)
	w.login(t)
	w.token(t)
	bob, err := w.Services.People.Create(t.Context(), access.NewUser{Email: "bob@example.com", Role: models.RoleViewer, Password: secrets.NewValue(password)})
	if err != nil {
		t.Fatal(err)
	}
	addApp(t, w.App, bob)
	at := "/admin/people/" + bob.ID
	for _, form := range []struct{ path, name, value string }{{"/reset", "", ""}, {"/disable", "", ""}, {"/enable", "", ""}} {
		if got := w.post(t, at+form.path, values(form.name, form.value)); got.Status != http.StatusSeeOther {
			t.Errorf("%s: %d", form.path, got.Status)
		}
	}
	if shown := w.send(t, at, nil); !strings.Contains(shown.Body, "1 authenticator app") || !strings.Contains(shown.Body, "Remove second factors") {
		t.Error("page lacks the factor, or a reset link or a block removed it")
	}
	if list := w.send(t, "/admin/people", nil); strings.Count(list.Body, "Password, Second factor") != 1 {
		t.Error("list lacks the factor")
	}
	if got := w.post(t, at+"/reset-factors", url.Values{}); !strings.Contains(got.Flash, "Second factors removed") {
		t.Errorf("reset: %d %q", got.Status, got.Flash)
	}
	if got := w.post(t, at+"/reset-factors", url.Values{}); !strings.Contains(got.Flash, "has no second factor") {
		t.Errorf("reset again: %d %q", got.Status, got.Flash)
	}
	if shown := w.send(t, at, nil); strings.Contains(shown.Body, "Remove second factors") {
		t.Error("page still offers to remove factors")
	}
}
