package routes_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/secrets"
)

func TestMemberConnectsClients(t *testing.T) {
	w := newFormWorld(t)
	w.Apply(t, `{"projects":{"mine":{"name":"Mine","description":"For us","authMode":"oauth","mcpServers":{"clock":{"url":"`+w.upstream+`"}}},
		"theirs":{"name":"Theirs","authMode":"oauth","oauthAccess":"members","mcpServers":{}},"keyed":{"authMode":"api_key","mcpServers":{}}}}`)
	w.Sync(t, "mine", "clock")
	member, _ := w.as(t, models.RoleMember)
	got := member.send(t, "/me/projects/mine", nil)
	for _, want := range []string{">Mine</h1>", "For us", "http://127.0.0.1:8080/v1/mcp/mine/request", "claude mcp add", "clock__<wbr>", `id="tools"`, "1 of 1 server up"} {
		if got.Status != http.StatusOK || !strings.Contains(got.Body, want) {
			t.Errorf("status %d, page lacks %q", got.Status, want)
		}
	}
	for _, never := range []string{`href="/admin`, w.upstream} {
		if strings.Contains(got.Body, never) {
			t.Errorf("page of a member has %q", never)
		}
	}
	for _, path := range []string{"/me/projects/theirs", "/me/projects/keyed", "/me/projects/none"} {
		if got := member.send(t, path, nil); got.Status != http.StatusNotFound {
			t.Errorf("%s: status %d", path, got.Status)
		}
	}
	if got := member.send(t, "/me", nil); !strings.Contains(got.Body, "1 project lets you in.") || !strings.Contains(got.Body, "0 calls by you this week") {
		t.Error("/me lacks its numbers")
	}
}

func TestOldPagesOfUsersRedirect(t *testing.T) {
	w := newFormWorld(t)
	member, first := w.as(t, models.RoleMember)
	if first.Status != http.StatusOK || !strings.Contains(first.Body, ">My projects</h1>") {
		t.Errorf("first page of a member: %d", first.Status)
	}
	for from, to := range map[string]string{"/oauth/grants": "/me/apps", "/admin/account": "/me/account", "/me/projects": "/me", "/oauth/grants?x=1": "/me/apps?x=1"} {
		got := member.send(t, from, nil)
		if got.Status != http.StatusMovedPermanently || got.Location != to {
			t.Errorf("%s: %d %q, want %q", from, got.Status, got.Location, to)
		}
		if end := member.send(t, to, nil); end.Status != http.StatusOK {
			t.Errorf("%s: status %d", to, end.Status)
		}
	}
	if got := w.send(t, "/admin/people/new", nil); got.Status != http.StatusMovedPermanently || got.Location != "/admin/people/invite" {
		t.Errorf("/admin/people/new: %d %q", got.Status, got.Location)
	}
}

// TestInvitedUserJoins follows an invite from the form to the first page.
func TestInvitedUserJoins(t *testing.T) {
	w := newFormWorld(t)
	invited := w.post(t, "/admin/people", values("email", "grace@example.com", "role", "member"))
	if invited.Status != http.StatusSeeOther || !strings.HasPrefix(invited.Location, "/admin/people/") {
		t.Fatalf("invite: %d %q %q", invited.Status, invited.Location, invited.Flash)
	}
	var link string
	for range 2 { // a reload has the same link
		shown := w.send(t, invited.Location, nil)
		_, rest, found := strings.Cut(shown.Body, "http://127.0.0.1:8080/invite/")
		if !found || len(rest) < 43 || link != "" && link != "/invite/"+rest[:43] {
			t.Fatal("page lacks the invite link")
		}
		link = "/invite/" + rest[:43]
	}
	other := newBrowser(t, w.App)
	if shown := other.send(t, invited.Location, nil); strings.Contains(shown.Body, link) || !strings.Contains(shown.Body, "New link") {
		t.Error("another session sees the link")
	}

	grace := &browser{App: w.App, cookies: map[string]string{}}
	if got := grace.send(t, link, nil); got.Status != http.StatusOK || !strings.Contains(got.Body, "grace@example.com") {
		t.Fatalf("invite link: %d", got.Status)
	}
	form := url.Values{"name": {"Grace"}, "password": {"short"}, "again": {"short"}}
	if got := grace.send(t, link, form); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, "Use at least 12 characters.") {
		t.Errorf("short password: %d", got.Status)
	}
	form.Set("password", password)
	if got := grace.send(t, link, form); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, "Passwords don&#39;t match.") {
		t.Errorf("two passwords: %d", got.Status)
	}
	form.Set("again", password)
	if got := grace.send(t, link, form, "Sec-Fetch-Site", "cross-site"); got.Status != http.StatusForbidden {
		t.Errorf("another site: %d", got.Status)
	}
	if got := grace.send(t, link, form); got.Status != http.StatusSeeOther || got.Location != "/me" {
		t.Errorf("joining: %d %q", got.Status, got.Location)
	}
	if got := grace.send(t, "/me", nil); got.Status != http.StatusOK {
		t.Errorf("first page: %d", got.Status)
	}
	if got := w.send(t, link, nil); got.Status != http.StatusGone || !strings.Contains(got.Body, ">This link was already used</h1>") {
		t.Errorf("used link: %d", got.Status)
	}
}

// TestForgottenPasswordIsReset follows a reset from the user's page to the sign-in.
func TestForgottenPasswordIsReset(t *testing.T) {
	w := newFormWorld(t)
	user, err := w.Services.People.Create(t.Context(), access.NewUser{Email: "grace@example.com", Role: models.RoleMember, Password: secrets.NewValue(password)})
	if err != nil {
		t.Fatal(err)
	}
	grace := &browser{App: w.App, cookies: map[string]string{}}
	if got := grace.send(t, "/login", url.Values{"email": {user.Email}, "password": {password}}); got.Location != "/me" {
		t.Fatalf("sign-in: %d %q", got.Status, got.Location)
	}
	at := "/admin/people/" + user.ID
	if got := w.post(t, at+"/reset", url.Values{}); got.Location != at {
		t.Fatalf("reset: %d %q %q", got.Status, got.Location, got.Flash)
	}
	_, rest, found := strings.Cut(w.send(t, at, nil).Body, "http://127.0.0.1:8080/reset/")
	if !found {
		t.Fatal("page lacks the reset link")
	}
	link := "/reset/" + rest[:43]
	if again := w.send(t, at, nil); !strings.Contains(again.Body, link) || !strings.Contains(again.Body, "Give it to grace only") {
		t.Error("reload lacks the link")
	}
	if done := w.post(t, at+"/done", url.Values{}); done.Status != http.StatusSeeOther || done.Location != at {
		t.Errorf("done: %d %q", done.Status, done.Location)
	}
	if later := w.send(t, at, nil); strings.Contains(later.Body, link) || !strings.Contains(later.Body, "It was shown once") {
		t.Error("the link is shown after Done")
	}
	if shown := newBrowser(t, w.App).send(t, at, nil); strings.Contains(shown.Body, link) {
		t.Error("another session sees the link")
	}
	forgetful := &browser{App: w.App, cookies: map[string]string{}}
	if got := forgetful.send(t, link, nil); got.Status != http.StatusOK || !strings.Contains(got.Body, "grace@example.com") {
		t.Fatalf("reset link: %d", got.Status)
	}
	form := url.Values{"password": {"a new long secret of Grace"}, "again": {"another"}}
	if got := forgetful.send(t, link, form); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, "Passwords don&#39;t match.") {
		t.Errorf("two passwords: %d", got.Status)
	}
	form.Set("again", form.Get("password"))
	if got := forgetful.send(t, link, form, "Sec-Fetch-Site", "cross-site"); got.Status != http.StatusForbidden {
		t.Errorf("another site: %d", got.Status)
	}
	if got := forgetful.send(t, link, form); got.Status != http.StatusSeeOther || got.Location != "/login" {
		t.Fatalf("new password: %d %q", got.Status, got.Location)
	}
	if got := grace.send(t, "/me", nil); !strings.HasPrefix(got.Location, "/login") {
		t.Errorf("a session outlives the reset: %d", got.Status)
	}
	if got := forgetful.send(t, "/login", url.Values{"email": {user.Email}, "password": {form.Get("password")}}); got.Location != "/me" {
		t.Errorf("sign-in with the new password: %d %q", got.Status, got.Location)
	}
	used := w.send(t, link, nil)
	unknown := w.send(t, "/reset/"+strings.Repeat("A", 43), nil)
	again := w.send(t, link, form)
	for _, got := range []page{used, again, w.send(t, "/invite/"+rest[:43], nil)} {
		if got.Status != http.StatusGone || !strings.Contains(got.Body, ">This link was already used</h1>") || !strings.Contains(got.Body, "Sign in, or ask an administrator for a new one.") {
			t.Errorf("used link: %d %s", got.Status, got.Body)
		}
	}
	if unknown.Status != http.StatusNotFound || !strings.Contains(unknown.Body, ">This link doesn&#39;t work</h1>") {
		t.Errorf("unknown link: %d", unknown.Status)
	}
	w.post(t, at+"/reset", url.Values{})
	_, rest, _ = strings.Cut(w.send(t, at, nil).Body, "http://127.0.0.1:8080/reset/")
	expired := "/reset/" + rest[:43]
	if err := w.Services.DB.Model(&models.Invite{}).Where("user_id = ?", user.ID).Update("expires_at", time.Now().Add(-time.Second)).Error; err != nil {
		t.Fatal(err)
	}
	if got := w.send(t, expired, nil); got.Status != http.StatusGone || !strings.Contains(got.Body, ">This link has expired</h1>") {
		t.Errorf("expired link: %d", got.Status)
	}
}

// TestUserWithPasswordIsNotInvited opens the page of a user who has a password.
func TestUserWithPasswordIsNotInvited(t *testing.T) {
	w := newFormWorld(t)
	user, err := w.Services.People.Create(t.Context(), access.NewUser{Email: "p@example.com", Role: models.RoleViewer, Password: secrets.NewValue(password)})
	if err != nil {
		t.Fatal(err)
	}
	if shown := w.send(t, "/admin/people/"+user.ID, nil); strings.Contains(shown.Body, "Invite link") || !strings.Contains(shown.Body, "Create reset link") {
		t.Error("user with a password is shown as invited")
	}
}
