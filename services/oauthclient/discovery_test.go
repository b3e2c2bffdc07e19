package oauthclient_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpgateway/models/modelstest"
	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
)

// TestHostileAuthorizationServers checks that nothing is sent to an
// authorization server that cannot be trusted.
func TestHostileAuthorizationServers(t *testing.T) {
	huge := strings.Repeat(" ", 50<<20)
	path := func(path string, h func(w http.ResponseWriter, r *http.Request)) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != path {
				return false
			}
			h(w, r)
			return true
		}
	}
	const metadata = "/.well-known/oauth-authorization-server"
	for name, c := range map[string]struct {
		prepare func(t *testing.T, p *provider)
		code    string
		state   oauthclient.State
	}{
		"wrong issuer": {func(_ *testing.T, p *provider) {
			p.metadata = func(m map[string]any) { m["issuer"] = "https://evil.example.com" }
		}, "issuer_mismatch", ""},
		"issuer with a slash": {func(_ *testing.T, p *provider) { p.metadata = func(m map[string]any) { m["issuer"] = p.url + "/" } }, "issuer_mismatch", ""},
		"no PKCE": {func(_ *testing.T, p *provider) {
			p.metadata = func(m map[string]any) { delete(m, "code_challenge_methods_supported") }
		}, "pkce_unsupported", ""},
		"plain PKCE": {func(_ *testing.T, p *provider) {
			p.metadata = func(m map[string]any) { m["code_challenge_methods_supported"] = []string{"plain"} }
		}, "pkce_unsupported", ""},
		"http token endpoint": {func(_ *testing.T, p *provider) {
			p.metadata = func(m map[string]any) { m["token_endpoint"] = "http://as.example.com/token" }
		}, "insecure_endpoint", ""},
		"http authorization": {func(_ *testing.T, p *provider) {
			p.metadata = func(m map[string]any) { m["authorization_endpoint"] = "http://as.example.com/a" }
		}, "insecure_endpoint", ""},
		"script authorization": {func(_ *testing.T, p *provider) {
			p.metadata = func(m map[string]any) { m["authorization_endpoint"] = "javascript:alert(1)" }
		}, "insecure_endpoint", ""},
		"http issuer": {func(_ *testing.T, p *provider) {
			p.resource = func(m map[string]any) { m["authorization_servers"] = []string{"http://as.example.com"} }
		}, "insecure_endpoint", ""},
		"other resource": {func(_ *testing.T, p *provider) {
			p.resource = func(m map[string]any) { m["resource"] = "https://evil.example.com/mcp" }
		}, "resource_mismatch", ""},
		"truncated resource path": {func(_ *testing.T, p *provider) { p.resource = func(m map[string]any) { m["resource"] = p.url + "/mc" } }, "resource_mismatch", ""},
		"no authorization": {func(_ *testing.T, p *provider) {
			p.metadata = func(m map[string]any) { delete(m, "authorization_endpoint") }
		}, "insecure_endpoint", ""},
		"no metadata": {func(_ *testing.T, p *provider) { p.serve = path(metadata, http.NotFound) }, "no_metadata", ""},
		"metadata of 50 MB": {func(_ *testing.T, p *provider) {
			p.serve = path(metadata, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(huge))
			})
		}, "invalid_metadata", ""},
		"no JSON": {func(_ *testing.T, p *provider) {
			p.serve = path(metadata, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte("{"))
			})
		}, "invalid_metadata", ""},
		"redirect to metadata": {func(_ *testing.T, p *provider) {
			p.serve = path(metadata, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
			})
		}, "invalid_metadata", ""},
		"redirect that repeats": {func(_ *testing.T, p *provider) {
			p.serve = path(metadata, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusTemporaryRedirect)
			})
		}, "invalid_metadata", ""},
		"link-local issuer": {func(_ *testing.T, p *provider) {
			p.resource = func(m map[string]any) { m["authorization_servers"] = []string{"https://169.254.169.254"} }
		}, "blocked_by_policy", oauthclient.BlockedByPolicy},
		"slow body": {func(t *testing.T, p *provider) {
			p.serve = path(metadata, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(200)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
		}, "timeout", ""},
		"server error": {func(_ *testing.T, p *provider) {
			p.serve = path(metadata, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
		}, "server_error", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t)
			p.set(func() { c.prepare(t, p) })
			o := options{}
			if c.code == "timeout" {
				o.timeout = 300 * time.Millisecond
			}
			w := onSQLite(t, p, o)
			_, err := w.Start(t.Context(), oauthclient.Start{ServerID: serverID, SessionID: session})
			if err == nil {
				t.Fatal("Start() succeeded")
			}
			if c.state == "" {
				c.state = oauthclient.NotConnected
			}
			if s := w.wantState(t, c.state, ""); s.ErrorCode != c.code {
				t.Errorf("error %s: %s, want %s", s.ErrorCode, s.ErrorText, c.code)
			}
			if n := p.count("POST /register") + p.count("POST /token") + p.count("GET /authorize"); n != 0 {
				t.Errorf("%d further requests, want 0", n)
			}
		})
	}
}

func TestMetadataSizeLimit(t *testing.T) {
	for _, c := range []struct {
		size int
		ok   bool
	}{{1<<20 - 1, true}, {1 << 20, true}, {1<<20 + 1, false}} {
		p := newProvider(t)
		p.serve = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/.well-known/oauth-protected-resource/mcp" {
				return false
			}
			body := `{"resource":"` + p.mcp() + `","authorization_servers":["` + p.url + `"]}`
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(body + strings.Repeat(" ", c.size-len(body))))
			return true
		}
		w := onSQLite(t, p, options{})
		_, err := w.Start(t.Context(), oauthclient.Start{ServerID: serverID, SessionID: session})
		if (err == nil) != c.ok {
			t.Errorf("Start() with %d bytes = %v", c.size, err)
		}
	}
}

func TestEgressGuardBlocksIssuer(t *testing.T) {
	p := newProvider(t)
	w := newWorld(t, modelstest.SQLite(t), p.mcp(), options{guard: egress.NewGuard(nil)})
	_, err := w.Start(t.Context(), oauthclient.Start{ServerID: serverID, SessionID: session})
	want(t, err, fault.CodeUpstreamUnavailable)
	if s := w.wantState(t, oauthclient.BlockedByPolicy, ""); !strings.Contains(s.ErrorText, "GATEWAY_EGRESS_ALLOW") {
		t.Errorf("got %q", s.ErrorText)
	}
	if n := get(p, func() int { return len(p.requests) }); n != 0 {
		t.Errorf("%d requests, want 0", n)
	}
}

func TestDiscoveryFallsBackToOrigin(t *testing.T) {
	for name, hidden := range map[string][]string{
		"with metadata":    {"/.well-known/oauth-protected-resource/mcp"},
		"without metadata": {"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t)
			p.iss = "omit"
			p.issAdvertised = false
			p.serve = func(w http.ResponseWriter, r *http.Request) bool {
				for _, path := range hidden {
					if r.URL.Path == path {
						http.NotFound(w, r)
						return true
					}
				}
				return false
			}
			w := onSQLite(t, p, options{})
			at := w.begin(t)
			if at.Query().Has("resource") || at.Path != "/authorize" {
				t.Errorf("got %s", at)
			}
			if _, err := w.Finish(t.Context(), visit(t, at)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestOfflineAccessIsRequested(t *testing.T) {
	p := newProvider(t)
	p.scopes = []string{"read"}
	p.metadata = func(m map[string]any) { m["scopes_supported"] = []string{"read", "offline_access"} }
	w := onSQLite(t, p, options{})
	if q := w.begin(t).Query(); q.Get("scope") != "read offline_access" || q.Get("prompt") != "consent" {
		t.Errorf("got %v", q)
	}
}
