package routes_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/secrets"
)

// as returns a browser of a new user with the role, and the first page after
// sign-in.
func (w *formWorld) as(t *testing.T, role models.Role) (*browser, page) {
	t.Helper()
	b := &browser{App: w.App, cookies: map[string]string{}}
	email := string(role) + "@example.com"
	if _, err := w.Services.People.Create(t.Context(), access.NewUser{Email: email, Role: role, Password: secrets.NewValue(password)}); err != nil {
		t.Fatal(err)
	}
	got := b.send(t, "/login", url.Values{"email": {email}, "password": {password}})
	for range 3 {
		if got.Status == http.StatusSeeOther {
			got = b.send(t, got.Location, nil)
		}
	}
	return b, got
}

func TestFirstPageAfterSignIn(t *testing.T) {
	w := newFormWorld(t)
	w.Apply(t, `{"projects":{"mine":{"name":"Mine","authMode":"oauth","mcpServers":{}},"theirs":{"name":"Theirs","authMode":"oauth","oauthAccess":"members","mcpServers":{}}}}`)
	for role, heading := range map[models.Role]string{models.RoleMember: "My projects", models.RoleViewer: "Projects", models.RoleAdmin: "Projects"} {
		_, got := w.as(t, role)
		if got.Status != http.StatusOK || !strings.Contains(got.Body, ">"+heading+"</h1>") {
			t.Errorf("first page of a %s: status %d", role, got.Status)
		}
		if role == models.RoleMember && (!strings.Contains(got.Body, "http://127.0.0.1:8080/v1/mcp/mine/request") || strings.Contains(got.Body, "heirs")) {
			t.Error("page of a member has wrong projects")
		}
	}
}

func TestErrorPagesKeepNavigation(t *testing.T) {
	w := newFormWorld(t)
	member, _ := w.as(t, models.RoleMember)
	viewer, _ := w.as(t, models.RoleViewer)
	side, menu := `aria-label="Admin"`, "/me/account"
	for _, tt := range []struct {
		name   string
		b      *browser
		path   string
		form   url.Values
		status int
		want   []string
		not    string
	}{
		{"unknown path", w.browser, "/admin/nope", nil, 404, []string{side, menu}, `href="/login"`},
		{"unknown project", w.browser, "/admin/projects/nope", nil, 404, []string{side, menu}, `href="/login"`},
		{"administrator's page", viewer, "/admin/people/invite", nil, 403, []string{side, menu, "Viewers can look, not change."}, `href="/login"`},
		{"viewer's page", member, "/admin/people", nil, 403, []string{menu, "/me", "Members can&#39;t use this page."}, side},
		{"unknown path of a member", member, "/nope", nil, 404, []string{menu, "/me"}, side},
		{"form with an old token", w.browser, "/admin/projects", url.Values{"csrf": {"old"}}, 403, []string{side, menu}, `href="/login"`},
		{"visitor", &browser{App: w.App, cookies: map[string]string{}}, "/nope", nil, 404, []string{`href="/login"`}, side},
		{"unknown cookie", &browser{App: w.App, cookies: map[string]string{"sid": "x"}}, "/nope", nil, 404, []string{`href="/login"`}, side},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.b.send(t, tt.path, tt.form)
			if got.Status != tt.status || strings.Contains(got.Body, tt.not) {
				t.Errorf("status %d, want %d without %q", got.Status, tt.status, tt.not)
			}
			for _, want := range tt.want {
				if !strings.Contains(got.Body, want) {
					t.Errorf("page lacks %q", want)
				}
			}
		})
	}
}
