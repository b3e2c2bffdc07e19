package oauth_test

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

func readAll(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestConsentPage(t *testing.T) {
	s := onSQLite(t)
	client := s.register(t, `["`+callback+`","cursor://anysphere.cursor-mcp/oauth/callback","https://client.example/cb"]`)
	bob := s.signIn(t, "bob@example.com")
	for redirect, source := range map[string]string{
		callback: "http://127.0.0.1:4711", "http://127.0.0.1:9/callback": "http://127.0.0.1:9",
		"cursor://anysphere.cursor-mcp/oauth/callback": "cursor:", "https://client.example/cb": "https://client.example",
	} {
		a := bob.get(t, s.authorizeURL(client, "redirect_uri", redirect), "Sec-Fetch-Site", "none")
		policy := a.header.Get("Content-Security-Policy")
		if a.status != 200 || !strings.Contains(policy, "form-action 'self' "+source) || !strings.Contains(policy, "frame-ancestors 'none'") ||
			a.header.Get("Cache-Control") != "no-store" || a.header.Get("Cross-Origin-Opener-Policy") != "" {
			t.Errorf("%s: %d %v", redirect, a.status, a.header)
		}
		for _, want := range []string{"Test &lt;client&gt;", client, "Project A", "3 tools", "Call tools", "bob@example.com", strings.TrimPrefix(strings.TrimPrefix(source, "http://"), "https://")} {
			if !strings.Contains(a.body, want) {
				t.Errorf("%s: page doesn't contain %q", redirect, want)
			}
		}
		if warned := strings.Contains(a.body, "Any app on this computer"); warned != !strings.HasPrefix(redirect, "https:") {
			t.Errorf("%s: warning about local programs = %v", redirect, warned)
		}
	}
	if a := bob.get(t, s.base+"/me/apps"); strings.Contains(a.header.Get("Content-Security-Policy"), "client.example") {
		t.Error("form-action of another page allows the client")
	}
	// The same request needs consent again each time.
	for range 2 {
		if _, err := bob.allow(t.Context(), s.authorizeURL(client)); err != nil {
			t.Fatal(err)
		}
	}
	a := bob.get(t, s.base+"/authorize?"+strings.SplitN(s.authorizeURL(client, "resource", ""), "?", 2)[1])
	if a.status != 200 || !strings.Contains(a.body, `type="radio"`) || !strings.Contains(a.body, "ob · 3 tools") {
		t.Errorf("project choice: %d %s", a.status, a.body)
	}
	if !regexp.MustCompile(`<button[^>]*value="refuse"[^>]*formnovalidate`).MatchString(a.body) {
		t.Error("denying requires a project choice")
	}
	form := formOf(a.body)
	form.Set("decision", "allow")
	if done := bob.post(t, s.base+"/oauth/authorize", form); done.status != http.StatusUnprocessableEntity || !strings.Contains(done.body, "Choose a project") {
		t.Errorf("without a choice: %d %s", done.status, done.body)
	}
	form.Set("decision", "refuse")
	if done := bob.post(t, s.base+"/oauth/authorize", form); done.status != 303 || !strings.HasPrefix(done.location, callback+"?error=access_denied") {
		t.Errorf("denied: %d %s", done.status, done.location)
	}
}

func TestSignInBeforeConsent(t *testing.T) {
	s := onSQLite(t)
	client := s.register(t, `["`+callback+`"]`)
	b := s.open(t)
	for _, id := range []string{client, "https://client.example/doc.json"} {
		a := b.get(t, s.authorizeURL(id))
		to, err := url.Parse(a.location)
		if err != nil || a.status != 303 || to.Path != "/login" || to.Host != "" {
			t.Fatalf("%d %s, %v", a.status, a.location, err)
		}
		next, err := url.Parse(to.Query().Get("next"))
		if err != nil || next.Path != "/oauth/authorize" || next.Query().Get("client_id") != id || next.Query().Get("state") != "st" || next.Host != "" {
			t.Errorf("next = %s, %v", to.Query().Get("next"), err)
		}
	}
	for name, address := range map[string]string{
		"unknown client":   s.authorizeURL("x"),
		"foreign redirect": s.authorizeURL(client, "redirect_uri", "https://evil.example/"),
		"nothing":          s.base + "/oauth/authorize",
		"too long":         s.authorizeURL(client, "state", strings.Repeat("x", 3000)),
	} {
		for _, accept := range []string{"text/html", "*/*"} {
			if a := b.get(t, address, "Accept", accept); a.status != 400 || a.location != "" || strings.Contains(a.body, `name="request"`) {
				t.Errorf("%s: %d %s", name, a.status, a.location)
			}
		}
	}
	if a := b.get(t, s.base+"/me/apps"); a.status != 303 || !strings.HasPrefix(a.location, "/login?next=") {
		t.Errorf("grants: %d %s", a.status, a.location)
	}
}

func TestForgedConsentIsRejected(t *testing.T) {
	s := onSQLite(t)
	client := s.register(t, `["`+callback+`"]`)
	bob, again, ann := s.signIn(t, "bob@example.com"), s.signIn(t, "bob@example.com"), s.signIn(t, "ann@example.com")
	form := formOf(bob.get(t, s.authorizeURL(client)).body)
	form.Set("decision", "allow")
	with := func(name, value string) url.Values {
		changed := url.Values{}
		for k, v := range form {
			changed[k] = v
		}
		changed.Set(name, value)
		return changed
	}
	tokenOf := func(b *browser) string { return formOf(b.get(t, s.authorizeURL(client)).body).Get("csrf") }
	for name, tc := range map[string]struct {
		b       *browser
		form    url.Values
		headers []string
	}{
		"no token":                  {bob, with("csrf", ""), nil},
		"other token":               {bob, with("csrf", tokenOf(ann)), nil},
		"other site":                {bob, form, []string{"Sec-Fetch-Site", "cross-site"}},
		"sibling site":              {bob, form, []string{"Sec-Fetch-Site", "same-site"}},
		"other origin":              {bob, form, []string{"Sec-Fetch-Site", "", "Origin", "https://evil.example"}},
		"without an origin":         {bob, form, []string{"Sec-Fetch-Site", "", "Origin", ""}},
		"other user":                {ann, with("csrf", tokenOf(ann)), nil},
		"other session of the user": {again, with("csrf", tokenOf(again)), nil},
		"no request":                {bob, with("request", ""), nil},
		"sealed by another gateway": {bob, with("request", "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), nil},
	} {
		if a := tc.b.post(t, s.base+"/oauth/authorize", tc.form, tc.headers...); a.status != 403 || a.location != "" {
			t.Errorf("%s: %d %s", name, a.status, a.location)
		}
	}
	if a := s.open(t).post(t, s.base+"/oauth/authorize", form); a.status != 303 || !strings.HasPrefix(a.location, "/login") {
		t.Errorf("not signed in: %d %s", a.status, a.location)
	}
	if a := bob.post(t, s.base+"/oauth/authorize", form); a.status != 303 || !strings.HasPrefix(a.location, callback+"?") || !strings.Contains(a.location, "code=gwac_") {
		t.Errorf("user: %d %s", a.status, a.location)
	}
}

func TestGrantsPage(t *testing.T) {
	s := onSQLite(t)
	client := s.register(t, `["`+callback+`"]`)
	bob, ann := s.signIn(t, "bob@example.com"), s.signIn(t, "ann@example.com")
	if a := bob.get(t, s.base+"/me/apps"); a.status != 200 || !strings.Contains(a.body, "No apps yet") {
		t.Errorf("%d %s", a.status, a.body)
	}
	tokens := s.grant(t, bob, client)
	a := bob.get(t, s.base+"/me/apps")
	if a.status != 200 || !strings.Contains(a.body, "Test &lt;client&gt;") || !strings.Contains(a.body, "Project A") || !strings.Contains(a.body, "Sees and calls tools") {
		t.Fatalf("%d %s", a.status, a.body)
	}
	grants, err := s.Services.OAuth.Grants(t.Context(), personID(t, s, "bob@example.com"))
	if err != nil || len(grants) != 1 {
		t.Fatalf("%v, %v", grants, err)
	}
	revoke := s.base + "/me/apps/" + grants[0].ID + "/revoke"
	token := url.Values{"csrf": {formOf(a.body).Get("csrf")}}
	if a := bob.post(t, revoke, url.Values{}); a.status != 403 {
		t.Errorf("without the CSRF token: %d", a.status)
	}
	if a := ann.post(t, revoke, url.Values{"csrf": {formOf(ann.get(t, s.authorizeURL(client)).body).Get("csrf")}}); a.status != 404 {
		t.Errorf("other user: %d", a.status)
	}
	if a := s.rpc(t, "oa/request", tokens.AccessToken, list); a.status != 200 {
		t.Fatalf("token rejected: %d", a.status)
	}
	if a := bob.post(t, revoke, token); a.status != 303 || a.location != "/me/apps" {
		t.Errorf("%d %s", a.status, a.location)
	}
	if a := s.rpc(t, "oa/request", tokens.AccessToken, list); a.status != 401 {
		t.Errorf("revoked token accepted: %d", a.status)
	}
	if a := bob.get(t, s.base+"/me/apps"); !strings.Contains(a.body, "App removed.") || !strings.Contains(a.body, "No apps yet") {
		t.Errorf("%s", a.body)
	}
}

func personID(t *testing.T, s *site, email string) string {
	t.Helper()
	people, err := s.Services.People.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range people {
		if p.Email == email {
			return p.ID
		}
	}
	t.Fatal("unknown user " + email)
	return ""
}
