package oauthclient_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// provider is an MCP server with its authorization server on one origin. Its
// fields configure misbehavior and are changed with set.
type provider struct {
	url string // origin

	mu            sync.Mutex
	life          int // seconds of an access token
	scopes        []string
	documents     bool
	noRegister    bool
	iss           string // of responses; "" is the issuer, "omit" none
	issAdvertised bool
	metadata      func(m map[string]any)
	resource      func(m map[string]any)
	serve         func(w http.ResponseWriter, r *http.Request) bool // called first; true if it responded
	token         func(w http.ResponseWriter, form url.Values) bool // the same for the token endpoint
	noRefresh     bool
	challenge     string // appended to WWW-Authenticate of rejections
	grace         time.Duration

	clients  map[string]string // id to secret
	codes    map[string]url.Values
	access   map[string]bool
	owner    map[string]string // who authorized an access or refresh token, by visitAs
	refresh  map[string]*grant
	requests []string // method and path
	sent     []url.Values
	auths    []string // Authorization at the MCP endpoint
}

// grant is a refresh token. Within grace, a used one returns the same response
// again.
type grant struct {
	used   time.Time
	answer map[string]any
}

func newProvider(t testing.TB) *provider {
	t.Helper()
	p := &provider{
		life: 3600, issAdvertised: true, clients: map[string]string{}, codes: map[string]url.Values{},
		access: map[string]bool{}, owner: map[string]string{}, refresh: map[string]*grant{},
	}
	p.url = serve(t, p)
	return p
}

// serve serves a handler on a free port until the test ends.
func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-ended
	})
	return "http://" + listener.Addr().String()
}

func (p *provider) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func get[T any](p *provider, read func() T) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	return read()
}

func (p *provider) mcp() string { return p.url + "/mcp" }

// count returns the number of requests for "METHOD /path".
func (p *provider) count(request string) int {
	return get(p, func() (n int) {
		for _, r := range p.requests {
			if r == request {
				n++
			}
		}
		return n
	})
}

// grants returns the number of token requests of a grant type.
func (p *provider) grants(kind string) int {
	return get(p, func() (n int) {
		for _, form := range p.sent {
			if form.Get("grant_type") == kind {
				n++
			}
		}
		return n
	})
}

// revokeAccess revokes every access token.
func (p *provider) revokeAccess() { p.set(func() { clear(p.access) }) }

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	p.set(func() { p.requests = append(p.requests, r.Method+" "+r.URL.Path) })
	if first := get(p, func() func(http.ResponseWriter, *http.Request) bool { return p.serve }); first != nil && first(w, r) {
		return
	}
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		m := map[string]any{"resource": p.mcp(), "authorization_servers": []string{p.url}}
		p.set(func() {
			if p.scopes != nil {
				m["scopes_supported"] = p.scopes
			}
			if p.resource != nil {
				p.resource(m)
			}
		})
		respond(w, 200, m)
	case "/.well-known/oauth-authorization-server":
		respond(w, 200, p.describe())
	case "/register":
		p.register(w, r)
	case "/authorize":
		p.authorize(w, r)
	case "/token":
		p.grant(w, r)
	case "/revoke":
		p.set(func() {
			p.sent = append(p.sent, r.PostForm)
			delete(p.refresh, r.PostForm.Get("token"))
			delete(p.access, r.PostForm.Get("token"))
		})
	case "/mcp":
		p.call(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (p *provider) describe() map[string]any {
	m := map[string]any{
		"issuer": p.url, "authorization_endpoint": p.url + "/authorize", "token_endpoint": p.url + "/token", "revocation_endpoint": p.url + "/revoke",
		"registration_endpoint": p.url + "/register", "code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
		"authorization_response_iss_parameter_supported": true,
	}
	p.set(func() {
		m["client_id_metadata_document_supported"] = p.documents
		m["authorization_response_iss_parameter_supported"] = p.issAdvertised
		if p.noRegister {
			delete(m, "registration_endpoint")
		}
		if p.metadata != nil {
			p.metadata(m)
		}
	})
	return m
}

func (p *provider) register(w http.ResponseWriter, r *http.Request) {
	var request map[string]any
	if json.NewDecoder(r.Body).Decode(&request) != nil || request["application_type"] != "web" {
		respond(w, 400, map[string]any{"error": "invalid_client_metadata"})
		return
	}
	id, secret := "client-"+rand.Text()[:8], "secret+/:"+rand.Text()
	p.set(func() { p.clients[id] = secret })
	respond(w, 201, map[string]any{"client_id": id, "client_secret": secret, "redirect_uris": request["redirect_uris"], "client_secret_expires_at": 0})
}

func (p *provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	code := rand.Text()
	to, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("code_challenge_method") != "S256" || q.Get("response_type") != "code" {
		http.Error(w, "bad request", 400)
		return
	}
	back := url.Values{"state": {q.Get("state")}, "code": {code}}
	p.set(func() {
		p.codes[code] = q
		switch p.iss {
		case "omit":
		case "":
			back.Set("iss", p.url)
		default:
			back.Set("iss", p.iss)
		}
	})
	to.RawQuery = back.Encode()
	http.Redirect(w, r, to.String(), http.StatusFound)
}

func (p *provider) grant(w http.ResponseWriter, r *http.Request) {
	form := r.PostForm
	id, secret, basic := r.BasicAuth()
	if basic {
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = form.Get("client_id"), form.Get("client_secret")
	}
	p.set(func() { p.sent = append(p.sent, form) })
	if hook := get(p, func() func(http.ResponseWriter, url.Values) bool { return p.token }); hook != nil && hook(w, form) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if want, known := p.clients[id]; !known && !strings.HasPrefix(id, "https://") || known && want != secret {
		respond(w, 401, map[string]any{"error": "invalid_client"})
		return
	}
	switch form.Get("grant_type") {
	case "authorization_code":
		request := p.codes[form.Get("code")]
		delete(p.codes, form.Get("code"))
		hash := sha256.Sum256([]byte(form.Get("code_verifier")))
		if request == nil || request.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(hash[:]) ||
			request.Get("redirect_uri") != form.Get("redirect_uri") || request.Get("resource") != form.Get("resource") {
			respond(w, 400, map[string]any{"error": "invalid_grant"})
			return
		}
		respond(w, 200, p.issue(request.Get("scope"), request.Get("person")))
	case "refresh_token":
		g := p.refresh[form.Get("refresh_token")]
		switch {
		case g == nil || !g.used.IsZero() && time.Since(g.used) > p.grace:
			respond(w, 400, map[string]any{"error": "invalid_grant", "error_description": "the refresh token " + form.Get("refresh_token") + " is gone"})
		case !g.used.IsZero():
			respond(w, 200, g.answer)
		default:
			g.used, g.answer = time.Now(), p.issue("", p.owner[form.Get("refresh_token")])
			respond(w, 200, g.answer)
		}
	case "client_credentials":
		respond(w, 200, p.issue(form.Get("scope"), ""))
	default:
		respond(w, 400, map[string]any{"error": "unsupported_grant_type"})
	}
}

// issue returns new tokens of a person. The caller must hold the mutex.
func (p *provider) issue(scope, person string) map[string]any {
	m := map[string]any{"access_token": "access-" + rand.Text(), "token_type": "Bearer"}
	p.access[m["access_token"].(string)] = true
	p.owner[m["access_token"].(string)] = person
	if p.life > 0 {
		m["expires_in"] = p.life
	}
	if scope != "" {
		m["scope"] = scope
	}
	if !p.noRefresh {
		m["refresh_token"] = "refresh-" + rand.Text()
		p.refresh[m["refresh_token"].(string)] = &grant{}
		p.owner[m["refresh_token"].(string)] = person
	}
	return m
}

// call handles the MCP endpoint: revision 2025-11-25 without sessions.
func (p *provider) call(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.auths = append(p.auths, r.Header.Get("Authorization"))
	good := p.access[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	challenge := p.challenge
	p.mu.Unlock()
	if !good {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+p.url+`/.well-known/oauth-protected-resource/mcp"`+challenge)
		respond(w, 401, map[string]any{"error": "invalid_token"})
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	results := map[string]any{
		"initialize": map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "p", "version": "1"}},
		"tools/list": map[string]any{"tools": []any{map[string]any{"name": "echo", "inputSchema": map[string]any{"type": "object"}}}},
		"tools/call": map[string]any{"content": []any{}},
	}
	switch result, known := results[m.Method]; {
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case known:
		respond(w, 200, map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
	default:
		respond(w, 200, map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "unknown method"}})
	}
}

func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func contains(values []string, part string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, part) })
}
