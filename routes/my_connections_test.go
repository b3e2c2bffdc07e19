package routes_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/connections"
	"mcpgateway/services/secrets"
	"mcpgateway/web/guard"
)

// accountsWorld is a project with personal servers by token, by OAuth and by
// headers, and people who may use it.
type accountsWorld struct {
	*routestest.App
	issuer  string // of the server by OAuth
	revoked *[]string
	ids     map[string]string // of users, by name
	people  map[string]*browser
}

func newAccountsWorld(t *testing.T, dsn string) *accountsWorld {
	t.Helper()
	w := &accountsWorld{App: routestest.New(t, dsn), ids: map[string]string{}, people: map[string]*browser{}, revoked: &[]string{}}
	w.issuer = authorizationServer(t, w.revoked)
	w.Apply(t, fmt.Sprintf(`{"projects":{"p":{"name":"Work","authMode":"oauth","oauthAccess":"members","mcpServers":{
		"gh":{"url":"https://mcp.example.com/gh","authType":"bearer","connection":"personal","personalHeaders":["X-Org"]},
		"signs":{"url":%q,"authType":"oauth","connection":"personal"},
		"one":{"url":"https://mcp.example.com/one"}}}}}`, w.issuer+"/mcp"))
	for name, role := range map[string]models.Role{"ann": models.RoleMember, "ben": models.RoleMember, "cat": models.RoleMember, "ada": models.RoleAdmin} {
		person, err := w.Services.People.Create(t.Context(), access.NewUser{Email: name + "@example.com", Name: strings.ToUpper(name), Role: role, Password: secrets.NewValue(password)})
		if err != nil {
			t.Fatal(err)
		}
		in, err := w.Services.People.SignIn(t.Context(), person.Email, secrets.NewValue(password), access.Browser{IP: "127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		w.ids[name] = person.ID
		w.people[name] = &browser{App: w.App, cookies: map[string]string{"sid": in.Cookie.Reveal()}, csrf: guard.MaskToken(in.Session.CSRF)}
		if name == "ann" || name == "ben" {
			w.Grant(t, "p", models.ProjectGrant{SubjectKind: models.SubjectPerson, SubjectID: person.ID, Role: models.GrantUse})
		}
	}
	return w
}

// authorizationServer starts a server with OAuth and its authorization server, and
// returns its origin. It adds revoked tokens to the list.
func authorizationServer(t *testing.T, revoked *[]string) string {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	respond := func(path string, body map[string]any) {
		mux.HandleFunc(path, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(rw).Encode(body)
		})
	}
	mux.HandleFunc("/mcp", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+server.URL+`/.well-known/oauth-protected-resource/mcp"`)
		rw.WriteHeader(http.StatusUnauthorized)
	})
	mux.HandleFunc("/revoke", func(_ http.ResponseWriter, r *http.Request) { *revoked = append(*revoked, r.FormValue("token")) })
	respond("/.well-known/oauth-protected-resource/mcp", map[string]any{"resource": server.URL + "/mcp", "authorization_servers": []string{server.URL}})
	respond("/.well-known/oauth-authorization-server", map[string]any{
		"issuer": server.URL, "authorization_endpoint": server.URL + "/authorize", "token_endpoint": server.URL + "/token", "registration_endpoint": server.URL + "/register",
		"revocation_endpoint": server.URL + "/revoke", "response_types_supported": []string{"code"}, "token_endpoint_auth_methods_supported": []string{"none"}, "code_challenge_methods_supported": []string{"S256"},
	})
	respond("/token", map[string]any{"access_token": "access-1", "refresh_token": "refresh-1", "token_type": "Bearer", "expires_in": 3600})
	mux.HandleFunc("/register", func(rw http.ResponseWriter, r *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		body["client_id"] = "c-1"
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(rw).Encode(body)
	})
	return server.URL
}

// stored returns the names of the users who are connected to a server.
func (w *accountsWorld) stored(t *testing.T, alias string) string {
	t.Helper()
	all, err := w.Services.OwnAccounts.Of(t.Context(), w.ServerID(t, "p", alias))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range all {
		names = append(names, one.Name)
	}
	return strings.Join(names, " ")
}

func (w *accountsWorld) path(t *testing.T, alias string) string {
	t.Helper()
	return "/me/connections/" + w.ServerID(t, "p", alias)
}

// api sends a request of the API as a user and returns its status and body.
func (w *accountsWorld) api(t *testing.T, name, method, path, body string) (int, string) {
	t.Helper()
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	request.Host = "127.0.0.1:8080"
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	request.Header.Set("X-CSRF-Token", w.people[name].csrf)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for cookie, value := range w.people[name].cookies {
		request.AddCookie(&http.Cookie{Name: cookie, Value: value})
	}
	answer, err := w.Test(request, 60_000)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode, readAll(t, answer.Body)
}

func readAll(t *testing.T, body io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wantPage fails the test unless a response has the status and all texts.
func wantPage(t *testing.T, what string, got page, status int, texts ...string) {
	t.Helper()
	if got.Status != status {
		t.Errorf("%s: status %d, want %d (%s %q)", what, got.Status, status, got.Location, got.Flash)
	}
	for _, text := range texts {
		if !strings.Contains(got.Body+got.Flash, text) {
			t.Errorf("%s: lacks %q", what, text)
		}
	}
}

func TestTicketOfAnotherPerson(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newAccountsWorld(t, dsn)
		ann, ben, path, id := w.people["ann"], w.people["ben"], w.path(t, "gh"), w.ServerID(t, "p", "gh")
		ticket := w.Services.Tickets.New(w.ids["ann"], id, "e-1")
		entered := func(ticket string) url.Values {
			return values("bearer", "a-token", "headers.X-Org", "acme", "inventory", "on", "t", ticket)
		}
		const refused = "This link was made for somebody else."
		for _, name := range []string{"ben", "cat", "ada"} { // with the server, without it, and an administrator
			wantPage(t, name, w.people[name].send(t, path+"?t="+ticket, nil), http.StatusForbidden, refused)
			wantPage(t, name+" sends a token", w.people[name].post(t, path, entered(ticket)), http.StatusForbidden, refused)
			wantPage(t, name+" signs in", w.people[name].post(t, w.path(t, "signs")+"/connect", values("t", ticket)), http.StatusForbidden, refused)
		}
		if got := w.stored(t, "gh") + w.stored(t, "signs"); got != "" {
			t.Errorf("stored for %s", got)
		}
		old := connections.NewTickets(w.Services.Config.Keys, w.Services.Config.PublicURL, func() time.Time { return time.Now().Add(-connections.TicketLifetime) })
		other := w.Services.Tickets.New(w.ids["ben"], w.ServerID(t, "p", "signs"), "e-1")
		for _, invalid := range []string{"", "forged", ticket + "A", old.New(w.ids["ann"], id, "e-1"), old.New(w.ids["ben"], id, "e-1"), other} {
			got := ben.send(t, path+"?t="+invalid, nil)
			wantPage(t, "invalid ticket "+invalid, got, http.StatusOK, "Enter your token")
			if strings.Contains(got.Body, "An app needs your account") {
				t.Errorf("ticket %q: the page names an app", invalid)
			}
		}
		wantPage(t, "own link", ann.send(t, path+"?t="+ticket, nil), http.StatusOK, "An app needs your account at mcp.example.com")
		wantPage(t, "own token", ann.post(t, path, entered(ticket)), http.StatusSeeOther, "Connected.")
		if got := w.stored(t, "gh"); got != "ANN" {
			t.Errorf("stored for %q", got)
		}
		visitor := &browser{App: w.App, cookies: map[string]string{}}
		got := visitor.send(t, path+"?t="+ticket, nil)
		if next, err := url.Parse(got.Location); err != nil || next.Path != "/login" || next.Query().Get("next") != path+"?t="+ticket {
			t.Errorf("signed out: %d %q", got.Status, got.Location)
		}
	})
}

func TestConnectByToken(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newAccountsWorld(t, dsn)
		ann, path := w.people["ann"], w.path(t, "gh")
		wantPage(t, "list", ann.send(t, "/me/connections", nil), http.StatusOK, ">gh<", ">signs<", "Not connected", "mcp.example.com", "the tokens are never shown")
		wantPage(t, "empty list", w.people["cat"].send(t, "/me/connections", nil), http.StatusOK, "Nothing to connect")
		for _, alias := range []string{"one", "gh"} {
			wantPage(t, "a server without access", w.people["cat"].send(t, w.path(t, alias), nil), http.StatusNotFound)
		}
		wantPage(t, "a shared server", ann.send(t, w.path(t, "one"), nil), http.StatusNotFound)
		wantPage(t, "page", ann.send(t, path, nil), http.StatusOK, "Let the gateway read the list of tools with my connection", "checked", "X-Org", "Sent only to mcp.example.com")
		wantPage(t, "nothing entered", ann.post(t, path, values("inventory", "on")), http.StatusUnprocessableEntity, "Enter your token.", "Enter your value of X-Org.")
		wantPage(t, "token", ann.post(t, path, values("bearer", "c4nary", "headers.X-Org", "c4nary", "inventory", "")), http.StatusSeeOther, "Connected.")
		shown := ann.send(t, path, nil)
		wantPage(t, "connected", shown, http.StatusOK, "Connected", "Replace your token", "Last used", "Reads the list of tools")
		if strings.Contains(shown.Body, "c4nary") || strings.Contains(w.Log.String(), "c4nary") {
			t.Error("a page or the log has the token")
		}
		wantPage(t, "of another person", w.people["ben"].post(t, path+"/disconnect", url.Values{}), http.StatusNotFound)
		wantPage(t, "disconnect", ann.post(t, path+"/disconnect", url.Values{}), http.StatusSeeOther, "The gateway deleted your token")
		if got := w.stored(t, "gh"); got != "" {
			t.Errorf("still stored for %q", got)
		}
	})
}

func TestConnectByOAuth(t *testing.T) {
	w := newAccountsWorld(t, modelstest.SQLite(t))
	ann, path := w.people["ann"], w.path(t, "signs")
	wantPage(t, "start without a form", ann.send(t, path+"/start", nil), http.StatusSeeOther)
	wantPage(t, "another site", ann.send(t, path+"/connect", values("csrf", ann.csrf), "Sec-Fetch-Site", "cross-site"), http.StatusForbidden)
	wantPage(t, "no CSRF token", ann.send(t, path+"/connect", values("inventory", "on")), http.StatusForbidden)
	begun := ann.post(t, path+"/connect", values("inventory", "on"))
	if begun.Status != http.StatusSeeOther || begun.Location != path+"/start" {
		t.Fatalf("connect: %d %q %q\n%s", begun.Status, begun.Location, begun.Flash, ann.send(t, path, nil).Body)
	}
	request := httptest.NewRequest(http.MethodGet, path+"/start", nil)
	request.Host = "127.0.0.1:8080"
	for name, value := range ann.cookies {
		request.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	answer, err := w.Test(request, 60_000)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if policy := answer.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "form-action 'self' "+w.issuer) {
		t.Errorf("policy = %s", policy)
	}
	refresh := answer.Header.Get("Refresh")
	to, err := url.Parse(strings.TrimPrefix(refresh, "0; url="))
	if err != nil || !strings.HasPrefix(refresh, "0; url="+w.issuer+"/authorize?") || answer.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("Refresh = %q, Cache-Control = %q", refresh, answer.Header.Get("Cache-Control"))
	}
	if body := readAll(t, answer.Body); !strings.Contains(body, `action="`+w.issuer+`/authorize"`) || !strings.Contains(body, `name="state"`) {
		t.Error("page lacks the form to the provider")
	}
	redirect, err := url.Parse(to.Query().Get("redirect_uri"))
	if err != nil {
		t.Fatal(err)
	}
	callback := redirect.Path + "?" + url.Values{"code": {"c"}, "state": {to.Query().Get("state")}}.Encode()
	stolen := w.people["ben"].send(t, callback, nil)
	if stolen.Location != "/me/connections" || w.stored(t, "signs") != "" {
		t.Errorf("callback in another session: %d %q, stored for %q", stolen.Status, stolen.Location, w.stored(t, "signs"))
	}
	again := ann.post(t, path+"/connect", values("inventory", "on"))
	if again.Location != path+"/start" {
		t.Fatalf("connect again: %d %q", again.Status, again.Location)
	}
	status, body := w.api(t, "ann", "POST", "/api"+path+"/start", `{"inventory":false}`)
	var started struct{ AuthorizeURL string }
	if err := json.Unmarshal([]byte(body), &started); status != 200 || err != nil {
		t.Fatalf("start by the API: %d %s", status, body)
	}
	to, err = url.Parse(started.AuthorizeURL)
	if err != nil {
		t.Fatal(err)
	}
	done := ann.send(t, redirect.Path+"?"+url.Values{"code": {"c"}, "state": {to.Query().Get("state")}}.Encode(), nil)
	if done.Location != path || !strings.Contains(done.Flash, "Connected.") || w.stored(t, "signs") != "ANN" {
		t.Errorf("callback: %d %q %q, stored for %q", done.Status, done.Location, done.Flash, w.stored(t, "signs"))
	}
	wantPage(t, "disconnect", ann.post(t, path+"/disconnect", url.Values{}), http.StatusSeeOther, "Disconnected. Your token is revoked.")
	if len(*w.revoked) == 0 {
		t.Error("no token was revoked")
	}
}

func TestConnectionsAPI(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newAccountsWorld(t, dsn)
		id := w.ServerID(t, "p", "gh")
		mine, theirs := "/api/me/connections/"+id, "/api/servers/"+id
		for _, tt := range []struct {
			who, method, path, body string
			status                  int
			want                    string
		}{
			{"ann", "GET", "/api/me/connections", "", 200, `"serverId":"` + id + `","alias":"gh","projectSlug":"p","host":"mcp.example.com","kind":null,"state":"not_connected","inventory":false,"connectedAt":null,"usedAt":null`},
			{"cat", "GET", "/api/me/connections", "", 200, `"items":[]`},
			{"ann", "PUT", mine, `{"bearer":"x"}`, 422, `"headers.X-Org"`},
			{"ann", "PUT", mine, `{"bearer":"x","headers":{"X-Org":"o"},"token":"y"}`, 422, `"token"`},
			{"cat", "PUT", mine, `{"bearer":"x","headers":{"X-Org":"o"}}`, 404, "NOT_FOUND"},
			{"cat", "POST", mine + "/start", "", 404, "NOT_FOUND"},
			{"ann", "POST", mine + "/start", "", 409, "CONFLICT"},
			{"ann", "DELETE", mine, "", 404, "NOT_FOUND"},
			{"ann", "PUT", mine, `{"bearer":"x","headers":{"x-org":"o"}}`, 200, `"kind":"token","state":"connected","inventory":true`},
			{"ben", "PUT", mine, `{"bearer":"x","headers":{"X-Org":"o"},"inventory":false}`, 200, `"inventory":false`},
			{"ann", "GET", theirs + "/connections", "", 403, "FORBIDDEN"},
			{"ada", "GET", theirs + "/connections", "", 200, `"personId":"` + w.ids["ann"] + `","name":"ANN","kind":"token","state":"connected","inventory":true,"chosen":false`},
			{"ada", "PUT", theirs + "/inventory-connection", `{"personId":"` + w.ids["ben"] + `"}`, 422, `"personId"`},
			{"ada", "PUT", theirs + "/inventory-connection", `{"personId":"` + w.ids["cat"] + `"}`, 404, "NOT_FOUND"},
			{"ada", "PUT", theirs + "/inventory-connection", `{}`, 422, `"personId"`},
			{"ada", "PUT", theirs + "/inventory-connection", `{"personId":7}`, 422, `"personId"`},
			{"ada", "PUT", theirs + "/inventory-connection", `{"personId":"` + w.ids["ann"] + `"}`, 204, ""},
			{"ada", "GET", theirs + "/connections", "", 200, `"chosen":true`},
			{"ada", "PUT", theirs + "/inventory-connection", `{"personId":null}`, 204, ""},
			{"ada", "PUT", "/api/servers/" + w.ServerID(t, "p", "one") + "/inventory-connection", `{"personId":null}`, 409, "CONFLICT"},
			{"ada", "PATCH", theirs, `{"connection":"shared","personalHeaders":[]}`, 409, `"connections"`},
			{"ada", "DELETE", theirs + "/connections/" + w.ids["cat"], "", 404, "NOT_FOUND"},
			{"ada", "DELETE", theirs + "/connections/" + w.ids["ben"], "", 204, ""},
			{"ben", "DELETE", mine, "", 404, "NOT_FOUND"},
			{"ann", "DELETE", mine, "", 204, ""},
		} {
			if status, body := w.api(t, tt.who, tt.method, tt.path, tt.body); status != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("%s: %s %s %s: %d %s, want %d with %s", tt.who, tt.method, tt.path, tt.body, status, body, tt.status, tt.want)
			}
		}
		if got := w.stored(t, "gh"); got != "" {
			t.Errorf("left: %q", got)
		}
	})
}

func TestAdministrationOfPersonalServers(t *testing.T) {
	w := newAccountsWorld(t, modelstest.SQLite(t))
	ada, id := w.people["ada"], w.ServerID(t, "p", "gh")
	page := "/admin/projects/p/servers/" + id
	wantPage(t, "no connection", ada.send(t, page, nil), http.StatusOK, "No one is connected yet", "Everyone uses their own", "headers of each person X-Org")
	wantPage(t, "token", w.people["ann"].post(t, "/me/connections/"+id, values("bearer", "x", "headers.X-Org", "o", "inventory", "on")), http.StatusSeeOther)
	wantPage(t, "list", ada.send(t, page, nil), http.StatusOK, "ANN", "Read with the connection of", "Remove the connection of ANN?")
	wantPage(t, "connections", ada.send(t, "/admin/connections", nil), http.StatusOK, "1 person connected", "No one is connected")
	wantPage(t, "inventory", ada.post(t, page+"/inventory", values("person", w.ids["ann"])), http.StatusSeeOther, "Saved.")
	wantPage(t, "form", ada.send(t, page+"/edit", nil), http.StatusOK, "One account for everybody", "Everyone uses their own", `value="X-Org"`)
	kept := ada.post(t, page+"/account", values("connection", "shared"))
	wantPage(t, "without a confirmation", kept, http.StatusUnprocessableEntity, "Type gh to confirm", "This removes the connection of 1 person.")
	wantPage(t, "wrong confirmation", ada.post(t, page+"/account", values("connection", "shared", "confirm", "hub")), http.StatusUnprocessableEntity)
	if got := w.stored(t, "gh"); got != "ANN" {
		t.Errorf("stored for %q", got)
	}
	wantPage(t, "remove", ada.post(t, page+"/connections/"+w.ids["ann"]+"/remove", url.Values{}), http.StatusSeeOther, "Connection removed.")
	wantPage(t, "remove again", ada.post(t, page+"/connections/"+w.ids["ann"]+"/remove", url.Values{}), http.StatusNotFound)
	wantPage(t, "shared", ada.post(t, page+"/account", values("connection", "shared")), http.StatusSeeOther, "All calls use one account.")
	wantPage(t, "own page", w.people["ann"].send(t, "/me/connections/"+id, nil), http.StatusNotFound)
	one := "/admin/projects/p/servers/" + w.ServerID(t, "p", "one")
	wantPage(t, "nothing to enter", ada.post(t, one+"/account", values("connection", "personal")), http.StatusUnprocessableEntity, "requires authType oauth or bearer, or personalHeaders")
	if got := ada.send(t, "/admin/connections/"+w.ServerID(t, "p", "signs"), nil); got.Status != http.StatusSeeOther || !strings.Contains(got.Flash, "Everyone connects their own account to signs.") {
		t.Errorf("connection of a personal server: %d %q", got.Status, got.Flash)
	}
}
