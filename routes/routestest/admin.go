package routestest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/cmd/gateway/demo"

	"mcpgateway/models/modelstest"
	"mcpgateway/web/guard"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream/upstreamtest"
)

// Administrator is the email address of the signed-in user of an Admin.
const Administrator = "ada@example.com"

// Admin is an application with the project p, its server clock, and a signed-in
// administrator.
type Admin struct {
	*App
	Cookie, CSRF string
}

// NewAdmin creates an Admin on a new SQLite database.
func NewAdmin(t testing.TB) *Admin {
	t.Helper()
	return NewAdminOn(t, modelstest.SQLite(t))
}

// NewAdminOn creates an Admin on the database with the data source name dsn.
func NewAdminOn(t testing.TB, dsn string) *Admin {
	t.Helper()
	clock := upstreamtest.New(demo.Servers()[0])
	app := New(t, dsn)
	app.Apply(t, fmt.Sprintf(`{"projects":{"p":{"authMode":"api_key","codeMode":{"enabled":true,"timeout":10000},"mcpServers":{"clock":{"url":%q}}}}}`, clock.Start(t)))
	app.Sync(t, "p", "clock")
	password := secrets.NewValue("a long password of the tests")
	if _, err := app.Services.People.Create(t.Context(), access.NewUser{Email: Administrator, Role: models.RoleAdmin, Password: password}); err != nil {
		t.Fatal(err)
	}
	in, err := app.Services.People.SignIn(t.Context(), Administrator, password, access.Browser{IP: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return &Admin{App: app, Cookie: in.Cookie.Reveal(), CSRF: guard.MaskToken(in.Session.CSRF)}
}

// Send sends a form, or requests a page without one. It returns the response's
// status, body and Location.
func (a *Admin) Send(t testing.TB, path string, form url.Values) (status int, body, location string) {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, path, nil)
	if form != nil {
		form.Set("csrf", a.CSRF)
		request = httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	request.Host = "127.0.0.1:8080"
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	request.AddCookie(&http.Cookie{Name: "sid", Value: a.Cookie})
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

// Join creates a person with a global role, signs them in, and returns the
// application as they use it.
func (a *App) Join(t testing.TB, email, name string, role models.Role) (joined *Admin, userID string) {
	t.Helper()
	password := secrets.NewValue("a long password of the tests")
	person, err := a.Services.People.Create(t.Context(), access.NewUser{Email: email, Name: name, Role: role, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	in, err := a.Services.People.SignIn(t.Context(), email, password, access.Browser{IP: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return &Admin{App: a, Cookie: in.Cookie.Reveal(), CSRF: guard.MaskToken(in.Session.CSRF)}, person.ID
}

// Ask sends a JSON request with the session's CSRF token, or without it if csrf is
// false.
func (a *Admin) Ask(t testing.TB, method, path, body string, csrf bool) (status int, answer string) {
	t.Helper()
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	request.Host = "127.0.0.1:8080"
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if csrf {
		request.Header.Set("X-CSRF-Token", a.CSRF)
	}
	request.AddCookie(&http.Cookie{Name: "sid", Value: a.Cookie})
	response, err := a.Test(request, 60_000)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(raw)
}
