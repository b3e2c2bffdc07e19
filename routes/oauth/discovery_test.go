package oauth_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiscovery(t *testing.T) {
	s := onSQLite(t)
	b := s.open(t)
	const well = "/.well-known/oauth-protected-resource"
	for _, endpoint := range []string{"request", "sse"} {
		a := b.get(t, s.base+well+"/v1/mcp/oa/"+endpoint)
		var got, want map[string]any
		if err := json.Unmarshal([]byte(a.body), &got); err != nil {
			t.Fatal(err)
		}
		want = map[string]any{
			"resource": s.base + "/v1/mcp/oa/" + endpoint, "authorization_servers": []any{s.base}, "scopes_supported": []any{"mcp:read", "mcp:call"},
			"bearer_methods_supported": []any{"header"}, "resource_name": "Project A",
		}
		if d := cmp.Diff(want, got); d != "" || a.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %v (-want +got):\n%s", endpoint, a.header, d)
		}
	}
	for _, path := range []string{well, well + "/", well + "/v1/mcp/pub/request", well + "/v1/mcp/key/request", well + "/v1/mcp/zzz/request", well + "/v1/mcp/oa/other", well + "/v1/mcp/oa", "/.well-known/openid-configuration"} {
		if a := b.get(t, s.base+path); a.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	a := b.get(t, s.base+"/.well-known/oauth-authorization-server", "Origin", "https://inspector.example")
	var got, want map[string]any
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatal(err)
	}
	methods := []any{"none", "client_secret_basic", "client_secret_post"}
	want = map[string]any{
		"issuer": s.base, "authorization_endpoint": s.base + "/oauth/authorize", "token_endpoint": s.base + "/oauth/token",
		"registration_endpoint": s.base + "/oauth/register", "revocation_endpoint": s.base + "/oauth/revoke",
		"response_types_supported": []any{"code"}, "response_modes_supported": []any{"query"}, "grant_types_supported": []any{"authorization_code", "refresh_token"},
		"code_challenge_methods_supported": []any{"S256"}, "token_endpoint_auth_methods_supported": methods, "revocation_endpoint_auth_methods_supported": methods,
		"scopes_supported": []any{"mcp:read", "mcp:call", "offline_access", "catalog:read"}, "client_id_metadata_document_supported": true, "authorization_response_iss_parameter_supported": true,
	}
	if d := cmp.Diff(want, got); d != "" || a.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%v (-want +got):\n%s", a.header, d)
	}
}

func TestChallenges(t *testing.T) {
	s := onSQLite(t)
	b := s.open(t)
	oauth := func(endpoint string) string {
		return `Bearer resource_metadata="` + s.base + `/.well-known/oauth-protected-resource/v1/mcp/oa/` + endpoint + `", scope="mcp:read mcp:call"`
	}
	const plain = `Bearer realm="gateway"`
	for _, tc := range []struct{ path, authorization, want string }{
		{"oa/request", "", oauth("request")},
		{"oa/sse", "", oauth("sse")},
		{"oa/request", "Bearer x", oauth("request") + `, error="invalid_token"`},
		{"oa/request", "Basic x", oauth("request") + `, error="invalid_token"`},
		{"key/request", "", plain},
		{"key/request", "Bearer x", plain},
	} {
		a := b.get(t, s.base+"/v1/mcp/"+tc.path, "Accept", "*/*", "Authorization", tc.authorization)
		if a.status != http.StatusUnauthorized || a.header.Get("WWW-Authenticate") != tc.want || !strings.Contains(a.body, "UNAUTHORIZED") {
			t.Errorf("%s with %q: %d, %s", tc.path, tc.authorization, a.status, a.header.Get("WWW-Authenticate"))
		}
	}
}

func TestCORSWithoutCookies(t *testing.T) {
	s := onSQLite(t)
	b := s.open(t)
	for path, method := range map[string]string{
		"/.well-known/oauth-authorization-server": "GET", "/.well-known/oauth-protected-resource/v1/mcp/oa/request": "GET",
		"/oauth/token": "POST", "/token": "POST", "/oauth/register": "POST", "/register": "POST", "/oauth/revoke": "POST",
	} {
		a, err := b.do(t.Context(), http.MethodOptions, s.base+path, nil, "Origin", "https://inspector.example", "Access-Control-Request-Method", method, "Access-Control-Request-Headers", "mcp-protocol-version")
		if err != nil {
			t.Fatal(err)
		}
		if a.status != http.StatusNoContent || a.header.Get("Access-Control-Allow-Origin") != "*" || a.header.Get("Access-Control-Allow-Methods") != method ||
			!strings.Contains(a.header.Get("Access-Control-Allow-Headers"), "mcp-protocol-version") || a.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %d %v", path, a.status, a.header)
		}
		if a, err := b.do(t.Context(), http.MethodPut, s.base+path, nil); err != nil || a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != method {
			t.Errorf("PUT %s: %d %v, %v", path, a.status, a.header, err)
		}
	}
	for _, path := range []string{"/oauth/authorize", "/me/apps"} {
		if a := b.get(t, s.base+path, "Origin", "https://inspector.example"); a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s allows cross-site scripts", path)
		}
	}
}
