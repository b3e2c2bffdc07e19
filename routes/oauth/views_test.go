package oauth_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/catalog/registries"
)

// names returns the names of the servers of a registry's response.
func names(t *testing.T, body string) (names []string) {
	t.Helper()
	var list struct {
		Servers []struct{ Server struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, s := range list.Servers {
		names = append(names, s.Server.Name)
	}
	return names
}

// TestGatedView reads a gated view with a catalog key and with the token of a
// user's client, and with nothing else.
func TestGatedView(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		s := newSite(t, dsn, nil)
		s.Apply(t, `{"projects":{"pub":{"published":true},"key":{"published":true},"oa":{"published":true}}}`)
		store := s.Services.Registries
		view, err := store.Create(t.Context(), registries.NewView{Name: "team", Title: "Team servers", Kind: models.ViewList, Gated: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Create(t.Context(), registries.NewView{Name: "other", Kind: models.ViewList, Gated: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Create(t.Context(), registries.NewView{Name: "open", Kind: models.ViewQuery, Query: "transport:http"}); err != nil {
			t.Fatal(err)
		}
		project, err := s.Services.Projects.Project(t.Context(), "key")
		if err != nil {
			t.Fatal(err)
		}
		if err := store.AddEntry(t.Context(), "team", project.ID); err != nil {
			t.Fatal(err)
		}
		_, key, err := store.CreateKey(t.Context(), registries.NewKey{Name: "Editors"})
		if err != nil {
			t.Fatal(err)
		}
		visitor := s.open(t)
		const list = "/v0.1/servers?limit=50&version=latest"
		read := func(view, token string) response {
			t.Helper()
			var headers []string
			if token != "" {
				headers = []string{"Authorization", "Bearer " + token}
			}
			return visitor.get(t, s.base+"/views/"+view+list, append(headers, "Accept", "application/json")...)
		}

		open := read("open", "")
		if got := names(t, open.body); open.status != 200 || !slices.Equal(got, []string{"localhost/key", "localhost/oa", "localhost/pub"}) {
			t.Errorf("public view: %d %v", open.status, got)
		}
		if strings.Contains(open.header.Get("Cache-Control"), "private") {
			t.Errorf("public view: Cache-Control %q", open.header.Get("Cache-Control"))
		}

		refused := read("team", "")
		document := s.base + "/.well-known/oauth-protected-resource/views/team"
		if refused.status != http.StatusUnauthorized || refused.header.Get("WWW-Authenticate") != `Bearer resource_metadata="`+document+`", scope="catalog:read"` {
			t.Fatalf("without a key: %d %q", refused.status, refused.header.Get("WWW-Authenticate"))
		}
		var metadata struct {
			Resource string   `json:"resource"`
			Scopes   []string `json:"scopes_supported"`
		}
		if err := json.Unmarshal([]byte(visitor.get(t, document).body), &metadata); err != nil || metadata.Resource != s.base+"/views/team" || !slices.Equal(metadata.Scopes, []string{"catalog:read"}) {
			t.Errorf("metadata %+v (%v)", metadata, err)
		}
		for _, name := range []string{"open", "none"} {
			if a := visitor.get(t, s.base+"/.well-known/oauth-protected-resource/views/"+name); a.status != 404 {
				t.Errorf("metadata of %s: %d", name, a.status)
			}
		}

		client := s.register(t, `["`+callback+`"]`)
		bob := s.signIn(t, "bob@example.com")
		address := s.authorizeURL(client, "resource", metadata.Resource, "scope", "catalog:read")
		if page := bob.get(t, address); !strings.Contains(page.body, "Team servers") {
			t.Errorf("consent page: %d %s", page.status, page.body)
		}
		ofProject := s.grant(t, bob, client)
		authorize := func() (tokenAnswer, url.Values) {
			t.Helper()
			to, err := bob.allow(t.Context(), address)
			if err != nil {
				t.Fatal(err)
			}
			u, err := url.Parse(to)
			if err != nil {
				t.Fatal(err)
			}
			form := url.Values{
				"grant_type": {"authorization_code"}, "client_id": {client}, "code": {u.Query().Get("code")}, "redirect_uri": {callback}, "code_verifier": {verifier}, "resource": {metadata.Resource},
			}
			answer, _ := s.token(t, form)
			return answer, form
		}
		ofView, _ := authorize()
		if ofView.AccessToken == "" || ofView.RefreshToken != "" || ofView.Scope != "catalog:read" || ofView.ExpiresIn != 30*24*3600 {
			t.Fatalf("tokens %+v", ofView)
		}
		replayed, form := authorize()
		if a := read("team", replayed.AccessToken); a.status != 200 {
			t.Errorf("second token: %d", a.status)
		}
		if answer, _ := s.token(t, form); answer.Error != "invalid_grant" {
			t.Errorf("replayed code: %+v", answer)
		}
		if a := read("team", replayed.AccessToken); a.status != http.StatusUnauthorized {
			t.Errorf("token of a replayed code: %d", a.status)
		}
		for what, token := range map[string]string{"catalog key": key.Reveal(), "token": ofView.AccessToken} {
			a := read("team", token)
			if got := names(t, a.body); a.status != 200 || !slices.Equal(got, []string{"localhost/key"}) {
				t.Errorf("%s: %d %v", what, a.status, got)
			}
			if a.header.Get("Cache-Control") != "private, no-store" || !strings.Contains(a.header.Get("Vary"), "Authorization") || a.header.Get("ETag") != "" {
				t.Errorf("%s: %v", what, a.header)
			}
		}
		_, projectKey := s.Key(t, "key", 0)
		for what, token := range map[string]string{"project key": projectKey, "project token": ofProject.AccessToken, "text": "x"} {
			if a := read("team", token); a.status != http.StatusUnauthorized {
				t.Errorf("%s: %d", what, a.status)
			}
		}
		if a := read("other", ofView.AccessToken); a.status != http.StatusUnauthorized {
			t.Errorf("token at another view: %d", a.status)
		}
		if a := s.rpc(t, "oa/request", ofView.AccessToken, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); a.status != http.StatusUnauthorized {
			t.Errorf("token of the view at a project: %d", a.status)
		}
		if a := read("none", ""); a.status != 404 || a.body != `{"error":"There is no view \"none\"."}` {
			t.Errorf("unknown view: %d %s", a.status, a.body)
		}

		if answer, _ := s.token(t, url.Values{"grant_type": {"authorization_code"}, "client_id": {client}, "code": {"gwvc_x"}, "code_verifier": {strings.Repeat("v", 43)}}); answer.Error != "invalid_grant" {
			t.Errorf("forged code: %+v", answer)
		}
		user := s.Services.DB.Model(&models.User{}).Where("email = ?", "bob@example.com")
		if err := user.Update("disabled_at", view.CreatedAt).Error; err != nil {
			t.Fatal(err)
		}
		if a := read("team", ofView.AccessToken); a.status != http.StatusUnauthorized {
			t.Errorf("token of a disabled user: %d", a.status)
		}
		keys, err := store.Keys(t.Context())
		if err != nil || len(keys) != 1 || keys[0].LastUsedAt == nil {
			t.Fatalf("keys %+v (%v)", keys, err)
		}
		if err := store.RevokeKey(t.Context(), keys[0].ID); err != nil {
			t.Fatal(err)
		}
		if a := read("team", key.Reveal()); a.status != http.StatusUnauthorized {
			t.Errorf("revoked key: %d", a.status)
		}
	})
}

// TestPublishedProject checks what a published project makes public.
func TestPublishedProject(t *testing.T) {
	s := onSQLite(t)
	visitor := s.open(t)
	if a := visitor.get(t, s.base+"/v0.1/servers", "Accept", "application/json"); len(names(t, a.body)) != 0 {
		t.Fatalf("before: %s", a.body)
	}
	s.Apply(t, `{"projects":{"key":{"name":"Keyed","description":"For the team.","instructions":"secret words","published":true},
		"oa":{"published":true,"toolsets":{"reader":{"name":"Reader","include":["up__echo"]}}}}}`)
	server := func(name string) response {
		t.Helper()
		return visitor.get(t, s.base+"/v0.1/servers/"+url.PathEscape(name)+"/versions/latest", "Accept", "application/json")
	}
	keyed := server("localhost/key")
	for _, part := range []string{`"title":"Keyed"`, `"url":"` + s.base + `/v1/mcp/key/request"`, `"name":"Authorization"`, `"isRequired":true,"isSecret":true,"value":"Bearer {api_key}"`} {
		if !strings.Contains(keyed.body, part) {
			t.Errorf("%s lacks %s", keyed.body, part)
		}
	}
	if strings.Contains(keyed.body, "secret words") {
		t.Errorf("%s", keyed.body)
	}
	for name, path := range map[string]string{"localhost/oa": "/v1/mcp/oa/request", "localhost/oa.reader": "/v1/mcp/oa/toolsets/reader/request"} {
		if a := server(name); !strings.Contains(a.body, `"url":"`+s.base+path+`"`) || strings.Contains(a.body, "headers") {
			t.Errorf("%s: %s", name, a.body)
		}
		e, err := s.Services.Catalog.EntryByName(strings.Split(name, "/")[0], strings.Split(name, "/")[1])
		if err != nil || len(e.ToolNames) != 0 {
			t.Errorf("%s: %+v (%v)", name, e, err)
		}
	}
	s.Apply(t, `{"projects":{"oa":{"authMode":"none"}}}`)
	e, err := s.Services.Catalog.EntryByName("localhost", "oa.reader")
	if err != nil || !slices.Equal(e.ToolNames, []string{"up__echo"}) {
		t.Errorf("open toolset: %+v (%v)", e, err)
	}
	s.Apply(t, `{"projects":{"key":{"published":false}}}`)
	if a := server("localhost/key"); a.status != 404 || !strings.HasPrefix(a.body, `{"error":"`) {
		t.Errorf("unpublished: %d %s", a.status, a.body)
	}
}
