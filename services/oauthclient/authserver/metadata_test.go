package authserver_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/oauthclient/authserver"
)

// site serves JSON documents by path and records the requested paths.
type site struct {
	mu        sync.Mutex
	documents map[string]any
	paths     []string
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paths = append(s.paths, r.URL.Path)
	document, ok := s.documents[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document)
}

func TestMetadataLocations(t *testing.T) {
	s := &site{}
	client, origin := serve(t, s.ServeHTTP)
	s.documents = map[string]any{
		"/.well-known/oauth-protected-resource": map[string]any{"resource": origin, "authorization_servers": []string{origin + "/tenant"}},
	}
	_, err := client.Discover(t.Context(), origin+"/mcp", authserver.Challenge{}, "")
	var e *authserver.Error
	if !errors.As(err, &e) || e.Code != "no_metadata" {
		t.Errorf("Discover() = %v, want no_metadata", err)
	}
	want := []string{
		"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource",
		"/.well-known/oauth-authorization-server/tenant", "/.well-known/openid-configuration/tenant", "/tenant/.well-known/openid-configuration",
	}
	if diff := cmp.Diff(want, s.paths); diff != "" {
		t.Errorf("requested paths (-want +got):\n%s", diff)
	}
}

func TestPreferredIssuer(t *testing.T) {
	s := &site{}
	client, origin := serve(t, s.ServeHTTP)
	metadata := func(issuer string) map[string]any {
		return map[string]any{
			"issuer": issuer, "authorization_endpoint": issuer + "/authorize?tenant=a%26b", "token_endpoint": issuer + "/token",
			"code_challenge_methods_supported": []string{"S256"}, "scopes_supported": []string{"read", "offline_access"},
			"token_endpoint_auth_methods_supported": []string{"client_secret_post"},
		}
	}
	s.documents = map[string]any{
		"/.well-known/oauth-protected-resource/mcp":    map[string]any{"resource": origin + "/mcp", "authorization_servers": []string{origin + "/a", origin + "/b"}, "scopes_supported": []string{"read"}},
		"/.well-known/oauth-authorization-server/a":    metadata(origin + "/a"),
		"/.well-known/oauth-authorization-server/b":    metadata(origin + "/b"),
		"/.well-known/oauth-authorization-server/evil": metadata(origin + "/evil"),
	}
	for preferred, want := range map[string]string{"": origin + "/a", origin + "/b": origin + "/b", origin + "/evil": origin + "/a"} {
		m, err := client.Discover(t.Context(), origin+"/mcp", authserver.Challenge{}, preferred)
		if err != nil || m.Issuer != want || m.Resource != origin+"/mcp" {
			t.Fatalf("Discover(%q) = %+v, %v, want issuer %s", preferred, m, err, want)
		}
		if got := []string{m.AuthMethod(true), m.AuthMethod(false)}; !cmp.Equal(got, []string{"client_secret_post", authserver.AuthNone}) {
			t.Errorf("AuthMethod() = %q", got)
		}
		scopes := m.RequestScopes(nil, []string{"write"})
		if !cmp.Equal(scopes, []string{"read", "write", "offline_access"}) {
			t.Errorf("RequestScopes() = %q", scopes)
		}
		raw, err := m.AuthorizationURL(authserver.AuthorizationRequest{ClientID: "id", RedirectURI: "https://gateway.example.com/cb", State: "s", Verifier: "v", Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		if q.Get("tenant") != "a&b" || q.Get("resource") != origin+"/mcp" || q.Get("code_challenge_method") != "S256" || q.Get("prompt") != "consent" || q.Get("scope") != "read write offline_access" {
			t.Errorf("AuthorizationURL() = %s", raw)
		}
	}
}
