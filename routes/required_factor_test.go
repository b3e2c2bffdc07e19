package routes_test

import (
	"html"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/access/factors/factorstest"
)

func TestRequiredFactorComesFirst(t *testing.T) {
	w := newFactorWorld(t, "sqlite:"+filepath.Join(t.TempDir(), "gateway.db"), models.RoleAdmin, "GATEWAY_REQUIRE_SECOND_FACTOR=admins")
	w.Apply(t, `{"projects":{"secret-project":{"name":"Secret project","authMode":"none","mcpServers":{}}}}`)
	w.login(t)
	w.token(t)
	for _, path := range []string{"/admin", "/me", "/me/account", "/admin/people", "/admin/projects/secret-project", "/oauth/authorize?client_id=x"} {
		if got := w.send(t, path, nil); got.Status != http.StatusSeeOther || got.Location != "/me/security?next="+url.QueryEscape(path) {
			t.Errorf("%s: %d %q", path, got.Status, got.Location)
		}
	}
	form := values("name", "New", "authMode", "none", "csrf", w.csrf)
	for referer, want := range map[string]string{
		passkeyOrigin + "/admin/projects/new?x=1": "/me/security?next=%2Fadmin%2Fprojects%2Fnew%3Fx%3D1", "https://evil.example/admin": "/me/security", "": "/me/security",
	} {
		if got := w.send(t, "/admin/projects", form, "Referer", referer); got.Status != http.StatusSeeOther || got.Location != want {
			t.Errorf("form of %q: %d %q", referer, got.Status, got.Location)
		}
	}
	if got := w.send(t, "/api/projects", nil); got.Status != http.StatusForbidden || !strings.Contains(got.Body, "second factor") {
		t.Errorf("API: %d %s", got.Status, got.Body)
	}
	shown := w.send(t, "/me/security", nil)
	if shown.Status != http.StatusOK || !strings.Contains(shown.Body, "Set up a second factor to continue") || strings.Contains(shown.Body, "ecret") {
		t.Errorf("set-up page: %d, names projects: %v", shown.Status, strings.Contains(shown.Body, "ecret"))
	}
	if got := w.setUpApp(t); got.Location != "/me/security/codes" {
		t.Fatalf("set-up: %d %q", got.Status, got.Location)
	}
	if got := w.send(t, "/admin", nil); got.Status != http.StatusOK {
		t.Errorf("after the set-up: %d", got.Status)
	}
	set, err := w.Services.Factors.Of(t.Context(), w.person.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.post(t, "/me/security/factors/"+set.Factors[0].ID+"/remove", url.Values{}); !strings.Contains(got.Flash, "must have a second factor") {
		t.Errorf("last factor: %d %q", got.Status, got.Flash)
	}
	if got := w.post(t, "/logout", url.Values{}); got.Location != "/login" {
		t.Errorf("sign-out: %d %q", got.Status, got.Location)
	}
}

// The page that a user left, and how URLs lead back to it.
const leftPage, backQuery = "/admin/people?query=a&page=2", "?next=%2Fadmin%2Fpeople%3Fquery%3Da%26page%3D2"

// outside returns values of next that are not paths of the gateway.
func outside() []string {
	return []string{
		"https://evil.example/", "//evil.example/", `/\evil.example/`, "/%5Cevil.example/", "/\t/evil.example/", "javascript:alert(1)", "evil.example", "http:/evil.example", "/" + strings.Repeat("x", 2048),
	}
}

// wantLinks fails the test unless a page has the links.
func (w *factorWorld) wantLinks(t *testing.T, path string, want ...string) page {
	t.Helper()
	got := w.send(t, path, nil)
	for _, href := range want {
		if !strings.Contains(html.UnescapeString(got.Body), `href="`+href+`"`) {
			t.Errorf("%s: %d without a link to %s", path, got.Status, href)
		}
	}
	return got
}

// TestRequiredFactorResumesPage follows the links from a page to the setup of a
// factor and back. Only paths of the gateway are followed.
func TestRequiredFactorResumesPage(t *testing.T) {
	w := newFactorWorld(t, "sqlite:"+filepath.Join(t.TempDir(), "gateway.db"), models.RoleAdmin, "GATEWAY_REQUIRE_SECOND_FACTOR=admins")
	w.login(t)
	w.token(t)
	if got := w.send(t, leftPage, nil); got.Location != "/me/security"+backQuery {
		t.Fatalf("page: %d %q", got.Status, got.Location)
	}
	w.wantLinks(t, "/me/security"+backQuery, "/me/security/app"+backQuery, "/me/security/passkey"+backQuery)
	w.wantLinks(t, "/me/security/app"+backQuery, "/me/security"+backQuery)
	form := w.passkey(t, w.wantLinks(t, "/me/security/passkey"+backQuery, "/me/security"+backQuery).Body, "/me/security/passkeys", w.device.Create)
	if form.Get("next") != leftPage {
		t.Errorf("form leads to %q", form.Get("next"))
	}
	for _, next := range outside() {
		query := "?next=" + url.QueryEscape(next)
		w.wantLinks(t, "/me/security"+query, "/me/security/app", "/me/security/passkey")
		for _, path := range []string{"/me/security/app", "/me/security/passkey"} {
			if got := hiddenField(t, w.wantLinks(t, path+query, "/me/security").Body, "next"); got != "" {
				t.Errorf("%s, %q: the form leads to %q", path, next, got)
			}
		}
	}
	if got := w.post(t, "/me/security/passkeys", values("next", leftPage, "state", "expired")); got.Location != "/me/security/passkey"+backQuery {
		t.Errorf("expired form: %d %q", got.Status, got.Location)
	}
	if got := w.post(t, "/me/security/passkeys", form); got.Location != "/me/security/codes"+backQuery {
		t.Fatalf("setup: %d %q", got.Status, got.Location)
	}
	for _, next := range outside() {
		w.wantLinks(t, "/me/security/codes?next="+url.QueryEscape(next), "/me/security")
	}
	w.wantLinks(t, "/me/security/codes"+backQuery, leftPage)
	if got := w.send(t, leftPage, nil); got.Status != http.StatusOK {
		t.Errorf("after the setup: %d", got.Status)
	}
	testLaterFactors(t, w)
}

// testLaterFactors adds passkeys of a user who has recovery codes.
func testLaterFactors(t *testing.T, w *factorWorld) {
	t.Helper()
	for _, next := range append([]string{leftPage}, outside()[:3]...) {
		form := w.passkey(t, w.send(t, "/me/security/passkey", nil).Body, "/me/security/passkeys", factorstest.NewDevice(t, passkeyOrigin, "localhost").Create)
		form.Set("next", next)
		want := "/me/security"
		if next == leftPage {
			want = leftPage
		}
		if got := w.post(t, "/me/security/passkeys", form); got.Location != want {
			t.Errorf("next %q: %d %q, want %q", next, got.Status, got.Location, want)
		}
	}
}
