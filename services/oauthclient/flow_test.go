package oauthclient_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
)

func TestConnect(t *testing.T) {
	each(t, func(t *testing.T, p *provider, w *world) {
		w.wantState(t, oauthclient.NotConnected, "")
		want(t, func() error { _, err := w.Token(t.Context(), w.server(t), ""); return err }(), fault.CodeUpstreamUnauthorized)
		p.set(func() { p.scopes = []string{"read", "write"} })
		at := w.begin(t)
		w.wantState(t, oauthclient.Authorizing, "")
		q := at.Query()
		if q.Get("resource") != p.mcp() || q.Get("scope") != "read write" || q.Get("code_challenge") == "" || len(q.Get("state")) < 43 || q.Has("prompt") {
			t.Errorf("authorization request %v", q)
		}
		if want := gatewayURL + "/oauth/callback/" + oauthclient.IssuerID(p.url); q.Get("redirect_uri") != want {
			t.Errorf("redirect_uri = %s, want %s", q.Get("redirect_uri"), want)
		}
		if _, err := w.Finish(t.Context(), visit(t, at)); err != nil {
			t.Fatal(err)
		}
		s := w.wantState(t, oauthclient.Connected, "")
		if s.Issuer != p.url || s.Registration != oauthclient.Dynamic || len(s.RegistrationReason) != 3 || s.ExpiresAt == nil || !s.ExpiresAt.Equal(w.Now().Add(time.Hour)) {
			t.Errorf("got %+v", s)
		}
		token := w.token(t)
		if !get(p, func() bool { return p.access[token] }) {
			t.Error("Token() isn't an issued token")
		}
		if got := w.server(t).ConfigVersion; got != 2 {
			t.Errorf("ConfigVersion = %d, want 2 to end old sessions", got)
		}
		if diff := cmp.Diff([]string{"connection.registered", "connection.started", "connection.connected"}, w.audited(t)); diff != "" {
			t.Error(diff)
		}
		w.checkNoPlaintext(t, p)
	})
}

// checkNoPlaintext checks that the tables and the log contain no token, code,
// verifier or client secret.
func (w *world) checkNoPlaintext(t *testing.T, p *provider) {
	t.Helper()
	var kept strings.Builder
	kept.WriteString(w.log.String())
	for _, table := range []string{"connections", "personal_connections", "connection_flows", "connection_registrations", "audit_entries"} {
		var rows []map[string]any
		if err := w.db.Table(table).Find(&rows).Error; err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			for _, v := range row {
				if s, ok := v.(string); ok {
					kept.WriteString(s + "\n")
				}
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var secretsSeen []string
	for token := range p.access {
		secretsSeen = append(secretsSeen, token)
	}
	for token := range p.refresh {
		secretsSeen = append(secretsSeen, token)
	}
	for _, secret := range p.clients {
		secretsSeen = append(secretsSeen, secret)
	}
	for _, form := range p.sent {
		secretsSeen = append(secretsSeen, form.Get("code"), form.Get("code_verifier"))
	}
	for _, s := range secretsSeen {
		if s != "" && strings.Contains(kept.String(), s) {
			t.Errorf("%s is stored in plaintext", s)
		}
	}
}

func TestSealedTokensAreBoundToRows(t *testing.T) {
	p := newProvider(t)
	w := onSQLite(t, p, options{})
	w.connect(t)
	err := w.db.Exec("UPDATE connections SET access_token = refresh_token, refresh_token = access_token").Error
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Changed(t.Context(), "connection:"+serverID)
	if v, err := w.Token(t.Context(), w.server(t), ""); err == nil {
		t.Errorf("Token() = %s for a moved ciphertext", v.Reveal())
	}
}

// TestUpstreamState checks that a state is accepted once, within 10 minutes,
// and only from the browser session that started the flow.
func TestUpstreamState(t *testing.T) {
	each(t, func(t *testing.T, p *provider, w *world) {
		start := func() oauthclient.Callback { return visit(t, w.begin(t)) }
		refuse := func(what string, cb oauthclient.Callback, code fault.Code) {
			t.Helper()
			_, err := w.Finish(t.Context(), cb)
			t.Log(what)
			want(t, err, code)
		}
		cb := start()
		other := cb
		other.SessionID = "session-of-another"
		refuse("another session", other, fault.CodeForbidden)
		other.SessionID = ""
		refuse("no session", other, fault.CodeUnauthorized)
		forged := cb
		forged.State = strings.Repeat("A", 43)
		refuse("unknown state", forged, fault.CodeInvalidParameter)
		forged.State = ""
		refuse("no state", forged, fault.CodeInvalidParameter)
		forged.State = strings.Repeat("A", 1<<20)
		refuse("an endless state", forged, fault.CodeInvalidParameter)
		if n := p.grants("authorization_code"); n != 0 {
			t.Fatalf("%d codes sent, want 0", n)
		}
		// None of these consumed the state.
		if _, err := w.Finish(t.Context(), cb); err != nil {
			t.Fatal(err)
		}
		refuse("a second use", cb, fault.CodeInvalidParameter)

		for _, c := range []struct {
			age time.Duration
			ok  bool
		}{{oauthclient.FlowLifetime - time.Millisecond, true}, {oauthclient.FlowLifetime, false}, {oauthclient.FlowLifetime + time.Millisecond, false}} {
			cb := start()
			w.Advance(c.age)
			if _, err := w.Finish(t.Context(), cb); (err == nil) != c.ok {
				t.Errorf("Finish() after %v = %v", c.age, err)
			}
		}
		_, err := w.Start(t.Context(), oauthclient.Start{ServerID: serverID})
		want(t, err, fault.CodeUnauthorized)
		_, err = w.Start(t.Context(), oauthclient.Start{ServerID: "unknown", SessionID: session})
		want(t, err, fault.CodeNotFound)
	})
}

func TestConcurrentCallbacksUseFlowOnce(t *testing.T) {
	each(t, func(t *testing.T, p *provider, w *world) {
		cb := visit(t, w.begin(t))
		errs := make(chan error, 8)
		for range cap(errs) {
			go func() { _, err := w.Finish(t.Context(), cb); errs <- err }()
		}
		good := 0
		for range cap(errs) {
			if <-errs == nil {
				good++
			}
		}
		if n := p.grants("authorization_code"); good != 1 || n != 1 {
			t.Errorf("%d succeeded with %d codes sent, want 1 and 1", good, n)
		}
	})
}

// TestMixUp checks the issuer of responses (RFC 9207): a response of another
// issuer fails before its code is sent.
func TestMixUp(t *testing.T) {
	for _, c := range []struct {
		name       string
		advertised bool
		iss        string
		ok         bool
	}{
		{"required and equal", true, "", true},
		{"required and missing", true, "omit", false},
		{"optional and missing", false, "omit", true},
		{"optional and equal", false, "", true},
		{"required and different", true, "https://evil.example.com", false},
		{"optional and different", false, "https://evil.example.com", false},
		{"required with an extra slash", true, "slash", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProvider(t)
			p.issAdvertised, p.iss = c.advertised, c.iss
			if c.iss == "slash" {
				p.iss = p.url + "/"
			}
			w := onSQLite(t, p, options{})
			_, err := w.Finish(t.Context(), visit(t, w.begin(t)))
			if (err == nil) != c.ok {
				t.Fatalf("Finish() = %v, want success %v", err, c.ok)
			}
			sent := p.grants("authorization_code")
			if c.ok != (sent == 1) {
				t.Errorf("%d codes sent", sent)
			}
			if !c.ok && w.status(t).ErrorCode != "issuer_mismatch" {
				t.Errorf("got %+v", w.status(t))
			}
		})
	}
	t.Run("error from another issuer", func(t *testing.T) {
		p := newProvider(t)
		w := onSQLite(t, p, options{})
		cb := visit(t, w.begin(t))
		cb.Code, cb.Error, cb.Issuer = "", "access_denied", "https://evil.example.com"
		_, err := w.Finish(t.Context(), cb)
		if f := want(t, err, fault.CodeUpstreamUnauthorized); strings.Contains(f.Message, "access_denied") {
			t.Errorf("error of another issuer is shown: %s", f.Message)
		}
	})
	t.Run("callback of another issuer", func(t *testing.T) {
		p := newProvider(t)
		p.issAdvertised, p.iss = false, "omit"
		w := onSQLite(t, p, options{})
		cb := visit(t, w.begin(t))
		cb.IssuerID = oauthclient.IssuerID("https://evil.example.com")
		if _, err := w.Finish(t.Context(), cb); err == nil || p.grants("authorization_code") != 0 {
			t.Errorf("Finish() = %v with %d codes sent", err, p.grants("authorization_code"))
		}
	})
}

func TestDeniedAuthorizationIsReported(t *testing.T) {
	p := newProvider(t)
	w := onSQLite(t, p, options{})
	cb := visit(t, w.begin(t))
	cb.Code, cb.Error, cb.Description = "", "access_denied", "not\ttoday\u202e<b>\x00"
	_, err := w.Finish(t.Context(), cb)
	want(t, err, fault.CodeUpstreamUnauthorized)
	s := w.wantState(t, oauthclient.NotConnected, "")
	if s.ErrorCode != "access_denied" || !strings.Contains(s.ErrorText, "(not today<b>)") {
		t.Errorf("got %q %q", s.ErrorCode, s.ErrorText)
	}
}

func TestRegistrationReuseAndRenewal(t *testing.T) {
	each(t, func(t *testing.T, p *provider, w *world) {
		w.connect(t)
		w.connect(t)
		if n := p.count("POST /register"); n != 1 {
			t.Fatalf("%d registrations", n)
		}
		// The authorization server deletes the registration. The second half of the
		// flow detects this and restarts it once.
		p.set(func() { clear(p.clients) })
		done, err := w.Finish(t.Context(), visit(t, w.begin(t)))
		if err != nil || done.AuthorizeURL == "" {
			t.Fatalf("%+v, %v", done, err)
		}
		p.set(func() { clear(p.clients) })
		done, err = w.Finish(t.Context(), visit(t, parse(t, done.AuthorizeURL)))
		if err == nil || done.AuthorizeURL != "" {
			t.Fatalf("second restart: %+v, %v", done, err)
		}
		// An administrator can also drop it.
		if err := w.DropRegistration(t.Context(), serverID); err != nil {
			t.Fatal(err)
		}
		want(t, w.DropRegistration(t.Context(), serverID), fault.CodeConflict)
		w.connect(t)
		if n := p.count("POST /register"); n != 3 {
			t.Errorf("%d registrations", n)
		}
		w.wantState(t, oauthclient.Connected, "")
	})
}

func TestClientRegistrationKinds(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(p *provider)
		options options
		static  string
		kind    oauthclient.Kind
		id      string
		path    string
	}{
		"client document": {func(p *provider) { p.documents = true }, options{}, "", oauthclient.Document, document{}.URL(), "/oauth/callback"},
		"static client": {func(p *provider) { p.noRegister, p.clients["given"] = true, "sesame" }, options{secret: "sesame"}, "given", oauthclient.Static, "given",
			"/oauth/callback/"},
		"static client after rejected registration": {func(p *provider) {
			p.clients["given"] = "sesame"
			p.serve = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/register" {
					respond(w, 403, map[string]any{"error": "access_denied"})
				}
				return r.URL.Path == "/register"
			}
		}, options{secret: "sesame"}, "given", oauthclient.Static, "given", "/oauth/callback/"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t)
			p.set(func() { c.prepare(p) })
			w := onSQLite(t, p, c.options)
			if err := w.db.Model(&models.Server{}).Where("id = ?", serverID).Update("o_auth_client_id", c.static).Error; err != nil {
				t.Fatal(err)
			}
			at := w.begin(t)
			q := at.Query()
			if q.Get("client_id") != c.id || !strings.HasPrefix(q.Get("redirect_uri"), gatewayURL+c.path) || strings.HasSuffix(c.path, "k") && q.Get("redirect_uri") != gatewayURL+c.path {
				t.Errorf("got %v", q)
			}
			if _, err := w.Finish(t.Context(), visit(t, at)); err != nil {
				t.Fatal(err)
			}
			if s := w.wantState(t, oauthclient.Connected, ""); s.Registration != c.kind {
				t.Errorf("got %+v", s)
			}
			w.Advance(2 * time.Hour)
			w.token(t) // refreshed with the same client
		})
	}
}

func TestRejectedRegistrationIsReported(t *testing.T) {
	p := newProvider(t)
	p.noRegister = true
	w := onSQLite(t, p, options{document: document{why: "test"}})
	_, err := w.Start(t.Context(), oauthclient.Start{ServerID: serverID, SessionID: session})
	want(t, err, fault.CodeUpstreamUnauthorized)
	if s := w.wantState(t, oauthclient.RegistrationRejected, ""); !strings.Contains(s.ErrorText, "Enter a client ID") {
		t.Errorf("got %+v", s)
	}
}

func TestDisconnectRevokesTokens(t *testing.T) {
	each(t, func(t *testing.T, p *provider, w *world) {
		w.connect(t)
		revoked, err := w.Disconnect(t.Context(), serverID, "")
		if err != nil || !revoked {
			t.Fatal(revoked, err)
		}
		w.wantState(t, oauthclient.NotConnected, "")
		if n := get(p, func() int { return len(p.access) + len(p.refresh) }); n != 0 {
			t.Errorf("%d tokens are still valid", n)
		}
		_, err = w.Token(t.Context(), w.server(t), "")
		want(t, err, fault.CodeUpstreamUnauthorized)
		w.connect(t)
		p.set(func() {
			p.serve = func(w http.ResponseWriter, r *http.Request) bool { w.WriteHeader(500); return true }
		})
		if revoked, err := w.Disconnect(t.Context(), serverID, ""); err != nil || revoked {
			t.Errorf("Disconnect() with a failing authorization server = %t, %v", revoked, err)
		}
		w.wantState(t, oauthclient.NotConnected, "")
		_, err = w.Disconnect(t.Context(), "unknown", "")
		want(t, err, fault.CodeNotFound)
	})
}

// TestChangedIssuerReceivesNoOldTokens moves a server to another authorization
// server.
func TestChangedIssuerReceivesNoOldTokens(t *testing.T) {
	each(t, func(t *testing.T, p *provider, w *world) {
		next := newProvider(t)
		w.connect(t)
		old := w.token(t)
		p.revokeAccess()
		p.set(func() { p.resource = func(m map[string]any) { m["authorization_servers"] = []string{next.url} } })
		_, err := w.Refused(t.Context(), w.server(t), "", upstream.Credentials{Bearer: secrets.NewValue(old)}, refusal(p, ""))
		want(t, err, fault.CodeUpstreamUnauthorized)
		w.wantState(t, oauthclient.IssuerChanged, "")
		if n := p.grants("refresh_token"); n != 0 {
			t.Errorf("%d refreshes", n)
		}
		_, err = w.Token(t.Context(), w.server(t), "")
		want(t, err, fault.CodeUpstreamUnauthorized)
		at := w.begin(t)
		if !strings.HasPrefix(at.String(), next.url) || get(p, func() bool { _, known := p.clients[at.Query().Get("client_id")]; return known }) {
			t.Errorf("authorization URL %s", at)
		}
		// The resource indicator is still the server's URL.
		if at.Query().Get("resource") != p.mcp() {
			t.Errorf("got %v", at.Query())
		}
		if _, err := w.Finish(t.Context(), visit(t, at)); err != nil {
			t.Fatal(err)
		}
		if s := w.wantState(t, oauthclient.Connected, ""); s.Issuer != next.url {
			t.Errorf("got %+v", s)
		}
		if contains(get(next, func() []string { return next.auths }), old) {
			t.Error("the new authorization server received the old token")
		}
	})
}

func TestTokensAreBoundToServerURL(t *testing.T) {
	p := newProvider(t)
	w := onSQLite(t, p, options{})
	w.connect(t)
	if err := w.db.Model(&models.Server{}).Where("id = ?", serverID).Update("url", p.url+"/other").Error; err != nil {
		t.Fatal(err)
	}
	_, err := w.Token(t.Context(), w.server(t), "")
	want(t, err, fault.CodeUpstreamUnauthorized)
	w.wantState(t, oauthclient.NeedsReauth, oauthclient.ReasonURLChanged)
}

// refusal returns the provider's response to a rejected token.
func refusal(p *provider, more string) *upstream.Challenge {
	return &upstream.Challenge{Status: 401, WWWAuthenticate: []string{`Bearer resource_metadata="` + p.url + `/.well-known/oauth-protected-resource/mcp"` + more}}
}

func TestAuthorizationEndpointKeepsQuery(t *testing.T) {
	at, err := url.Parse("https://as.example.com/authorize?tenant=a%26b")
	if err != nil {
		t.Fatal(err)
	}
	p := newProvider(t)
	p.metadata = func(m map[string]any) { m["authorization_endpoint"] = at.String() }
	w := onSQLite(t, p, options{})
	if q := w.begin(t).Query(); q.Get("tenant") != "a&b" || q.Get("response_type") != "code" {
		t.Errorf("got %v", q)
	}
}
