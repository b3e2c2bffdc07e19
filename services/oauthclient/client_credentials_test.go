package oauthclient_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
)

// useOwnClient stores client credentials of the server.
func (w *world) useOwnClient(t testing.TB, method models.ClientAuth, also map[string]any) {
	t.Helper()
	columns := map[string]any{"o_auth_grant": models.GrantClientCredentials, "o_auth_client_auth": method, "o_auth_client_id": "own", "config_version": 2}
	for name, value := range also {
		columns[name] = value
	}
	if err := w.db.Model(&models.Server{}).Where("id = ?", serverID).Updates(columns).Error; err != nil {
		t.Fatal(err)
	}
}

// signingKey returns a new private key as PEM text and its public part.
func signingKey(t testing.TB, kind string) (text string, public crypto.PublicKey) {
	t.Helper()
	var key crypto.Signer
	var err error
	if kind == "RS256" {
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	} else {
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), key.Public()
}

// together requests the token of 60 callers, half of them at each process, and
// returns it.
func together(t *testing.T, worlds ...*world) string {
	t.Helper()
	var all sync.WaitGroup
	tokens := make([]string, 60)
	for i := range tokens {
		w := worlds[i%len(worlds)]
		server := w.server(t)
		all.Go(func() {
			v, err := w.Token(t.Context(), server, "")
			if err != nil {
				t.Error(err)
			}
			tokens[i] = v.Reveal()
		})
	}
	all.Wait()
	for _, token := range tokens {
		if token == "" || token != tokens[0] {
			t.Fatalf("different tokens: %q", tokens)
		}
	}
	return tokens[0]
}

func TestClientCredentialsRequestOnce(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		p := newProvider(t)
		p.set(func() { p.clients["own"], p.scopes, p.noRefresh = "sesame+/:", []string{"mcp:read"}, true })
		clock := newClock()
		o := options{document: document{why: "test"}, secret: "sesame+/:", now: clock.Now}
		one := newWorld(t, dsn, p.mcp(), o)
		one.useOwnClient(t, models.ClientSecretBasic, nil)
		two := join(t, dsn, o)
		if s := one.status(t); s.NeedsPerson() {
			t.Errorf("waits for an administrator before the first call: %+v", s)
		}
		first := together(t, one, two)
		if n := p.grants("client_credentials"); n != 1 {
			t.Fatalf("%d token requests, want 1", n)
		}
		sent := get(p, func() string { return p.sent[0].Encode() })
		for _, part := range []string{"grant_type=client_credentials", "scope=mcp%3Aread", "resource="} {
			if !strings.Contains(sent, part) || strings.Contains(sent, "sesame") {
				t.Errorf("sent %s, want %s", sent, part)
			}
		}
		s := one.wantState(t, oauthclient.Connected, "")
		if s.Issuer != p.url || s.Registration != oauthclient.OwnClient || s.ConnectedAt == nil {
			t.Errorf("status %+v", s)
		}

		// It is renewed once at 80 % of its lifetime, and once after a rejection.
		clock.Advance(47 * time.Minute)
		if together(t, one, two) != first || p.grants("client_credentials") != 1 {
			t.Error("renewed early")
		}
		clock.Advance(2 * time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); one.Run(ctx) }()
		eventually(t, "a renewal in the background", func() bool { return p.grants("client_credentials") == 2 && one.token(t) != first })
		cancel()
		<-ended
		eventually(t, "the new token at the other process", func() bool {
			return two.Changed(t.Context(), "connection:"+serverID) == nil && two.token(t) == one.token(t)
		})
		p.revokeAccess()
		var all sync.WaitGroup
		for _, w := range []*world{one, two} {
			pool, target := w.through(t)
			for range 10 {
				all.Go(func() {
					if err := call(t, pool, target); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		if n := p.grants("client_credentials"); n != 3 {
			t.Errorf("%d token requests, want 3", n)
		}
		if d := cmp.Diff([]string{"connection.connected"}, one.audited(t)); d != "" {
			t.Error(d)
		}
	})
}

func TestRejectedClientCredentials(t *testing.T) {
	each(t, func(t *testing.T, p *provider, w *world) { // the secret of the world is empty
		w.useOwnClient(t, models.ClientSecretPost, nil)
		_, err := w.Token(t.Context(), w.server(t), "")
		want(t, err, fault.CodeUpstreamUnauthorized)
		if s := w.wantState(t, oauthclient.RegistrationRejected, ""); !s.NeedsPerson() {
			t.Error("it waits for nobody")
		}
		if n := p.grants("client_credentials"); n != 0 {
			t.Errorf("%d requests without a secret", n)
		}
	})
	p := newProvider(t)
	p.set(func() { p.clients["own"] = "right" })
	secret := "wrong"
	w := onSQLite(t, p, options{secretOf: func() string { return secret }})
	w.useOwnClient(t, models.ClientSecretPost, nil)
	for range 3 {
		_, err := w.Token(t.Context(), w.server(t), "")
		if f := want(t, err, fault.CodeUpstreamUnauthorized); !strings.Contains(f.Message, "invalid_client") || strings.Contains(f.Message, "wrong") {
			t.Errorf("message %q", f.Message)
		}
	}
	w.wantState(t, oauthclient.RegistrationRejected, "")
	if n := p.grants("client_credentials"); n != 1 {
		t.Errorf("%d token requests, want 1", n)
	}
	// Another value of the secret, as of a file, and another configuration try again.
	secret = "still wrong"
	_, err := w.Token(t.Context(), w.server(t), "")
	want(t, err, fault.CodeUpstreamUnauthorized)
	w.useOwnClient(t, models.ClientSecretPost, map[string]any{"config_version": 3})
	_, err = w.Token(t.Context(), w.server(t), "")
	want(t, err, fault.CodeUpstreamUnauthorized)
	if n := p.grants("client_credentials"); n != 3 {
		t.Errorf("%d token requests, want 3", n)
	}
	secret = "right"
	w.token(t)
	w.wantState(t, oauthclient.Connected, "")
	if text := w.log.String(); strings.Contains(text, "wrong") || strings.Contains(text, "right") {
		t.Errorf("the log contains a secret: %s", text)
	}
}

// TestClientCredentialsBelongToConfiguration changes the configuration of a server
// with a token.
func TestClientCredentialsBelongToConfiguration(t *testing.T) {
	p := newProvider(t)
	p.set(func() { p.clients["own"], p.clients["other"] = "sesame", "sesame" })
	w := onSQLite(t, p, options{secret: "sesame"})
	w.useOwnClient(t, models.ClientSecretBasic, nil)
	old := w.server(t)
	first := w.token(t)
	w.useOwnClient(t, models.ClientSecretBasic, map[string]any{"timeout_ms": 50_000, "config_version": 3})
	if w.token(t) != first {
		t.Error("a change of the timeout discarded the token")
	}
	w.useOwnClient(t, models.ClientSecretBasic, map[string]any{"o_auth_client_id": "other", "config_version": 4})
	second := w.token(t)
	if second == first {
		t.Error("the token of another client is used")
	}
	_, err := w.Token(t.Context(), old, "")
	if want(t, err, fault.CodeUpstreamUnavailable); w.token(t) != second {
		t.Error("an older configuration replaced the token")
	}
	w.useOwnClient(t, models.ClientSecretBasic, map[string]any{"o_auth_grant": "", "config_version": 5})
	_, err = w.Token(t.Context(), w.server(t), "")
	want(t, err, fault.CodeUpstreamUnauthorized)
	w.wantState(t, oauthclient.NeedsReauth, oauthclient.ReasonClientChanged)
	w.useOwnClient(t, models.ClientSecretBasic, map[string]any{"config_version": 6})
	if _, err := w.Start(t.Context(), oauthclient.Start{ServerID: serverID, SessionID: session}); !fault.Is(err, fault.CodeConflict) {
		t.Errorf("Start() = %v", err)
	}
	w.token(t)

	// The secret is not sent to an authorization server that the server names later.
	other := newProvider(t)
	p.set(func() { p.resource = func(m map[string]any) { m["authorization_servers"] = []string{other.url} } })
	p.revokeAccess()
	pool, target := w.through(t)
	want(t, call(t, pool, target), fault.CodeUpstreamUnauthorized)
	w.wantState(t, oauthclient.IssuerChanged, "")
	if n := other.grants("client_credentials"); n != 0 {
		t.Errorf("%d requests to another issuer", n)
	}
}

func TestClientAssertion(t *testing.T) {
	for _, tt := range []struct {
		algorithm string
		also      map[string]any
		audience  func(p *provider) string
	}{
		{"RS256", nil, func(p *provider) string { return p.url }},
		{"ES256", map[string]any{"o_auth_audience": "https://aud.example/", "o_auth_key_id": "key-1"}, func(*provider) string { return "https://aud.example/" }},
		{"ES256", map[string]any{"o_auth_token_url": "own"}, func(p *provider) string { return p.url + "/token" }},
	} {
		p := newProvider(t)
		p.set(func() { p.clients["own"] = "" })
		text, public := signingKey(t, tt.algorithm)
		w := onSQLite(t, p, options{key: text, now: wallClock})
		if tt.also["o_auth_token_url"] != nil {
			tt.also["o_auth_token_url"] = p.url + "/token"
		}
		w.useOwnClient(t, models.PrivateKeyJWT, tt.also)
		w.token(t)
		if tt.also["o_auth_token_url"] != nil && p.count("GET /.well-known/oauth-authorization-server") != 0 {
			t.Error("discovery in spite of a token endpoint")
		}
		seen := map[string]bool{}
		w.db.Delete(&models.Connection{}, "server_id = ?", serverID)
		if err := w.Changed(t.Context(), "connection:"+serverID); err != nil {
			t.Fatal(err)
		}
		w.token(t)
		for _, form := range get(p, func() []map[string][]string {
			var all []map[string][]string
			for _, f := range p.sent {
				all = append(all, f)
			}
			return all
		}) {
			parsed, err := jwt.ParseSigned(form["client_assertion"][0], []jose.SignatureAlgorithm{jose.SignatureAlgorithm(tt.algorithm)})
			if err != nil {
				t.Fatal(err)
			}
			var claims jwt.Claims
			if err := parsed.Claims(public, &claims); err != nil {
				t.Fatal(err)
			}
			kid, _ := tt.also["o_auth_key_id"].(string)
			life := claims.Expiry.Time().Sub(claims.IssuedAt.Time())
			if claims.Issuer != "own" || claims.Subject != "own" || len(claims.Audience) != 1 || claims.Audience[0] != tt.audience(p) || life != time.Minute || parsed.Headers[0].KeyID != kid ||
				form["client_assertion_type"][0] != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" || form["client_secret"] != nil {
				t.Errorf("%s assertion %+v (%v), kid %q", tt.algorithm, claims, life, parsed.Headers[0].KeyID)
			}
			seen[claims.ID] = true
		}
		if len(seen) != 2 {
			t.Errorf("jti %v, want two different ones", seen)
		}
	}
}

// TestClientCredentialsOIDCProvider requests tokens of a real authorization server
// by each method, for 60 callers at two processes.
func TestClientCredentialsOIDCProvider(t *testing.T) {
	rsaText, rsaPublic := signingKey(t, "RS256")
	ecText, ecPublic := signingKey(t, "ES256")
	client := func(id string, also map[string]any) map[string]any {
		m := map[string]any{"client_id": id, "grant_types": []string{"client_credentials"}, "redirect_uris": []string{}, "response_types": []string{}, "scope": "mcp:read"}
		for k, v := range also {
			m[k] = v
		}
		return m
	}
	jwks := func(key crypto.PublicKey, kid, alg string) map[string]any {
		return map[string]any{"token_endpoint_auth_method": "private_key_jwt", "token_endpoint_auth_signing_alg": alg,
			"jwks": jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key, KeyID: kid, Algorithm: alg, Use: "sig"}}}}
	}
	clients, err := json.Marshal([]any{
		map[string]any{"client_id": "inspector", "client_secret": "inspectors-secret", "token_endpoint_auth_method": "client_secret_post", "grant_types": []string{}, "response_types": []string{}, "redirect_uris": []string{}},
		client("basic", map[string]any{"client_secret": "sesame open", "token_endpoint_auth_method": "client_secret_basic"}),
		client("post", map[string]any{"client_secret": "sesame open", "token_endpoint_auth_method": "client_secret_post"}),
		client("rsa", jwks(rsaPublic, "k1", "RS256")), client("ec", jwks(ecPublic, "k2", "ES256")),
	})
	if err != nil {
		t.Fatal(err)
	}
	g := newGuarded(t)
	issuer := startOIDCProvider(t, "DCR=0", "RESOURCES="+g.url+"/mcp", "SCOPES=mcp:read", "CLIENTS="+string(clients))
	g.mu.Lock()
	g.issuer = issuer
	g.mu.Unlock()
	for _, tt := range []struct {
		id     string
		method models.ClientAuth
		key    string
		kid    string
	}{
		{"basic", models.ClientSecretBasic, "", ""}, {"post", models.ClientSecretPost, "", ""},
		{"rsa", models.PrivateKeyJWT, rsaText, "k1"}, {"ec", models.PrivateKeyJWT, ecText, ""},
	} {
		t.Run(tt.id, func(t *testing.T) {
			modelstest.EachDSN(t, func(t *testing.T, dsn string) {
				o := options{secret: "sesame open", key: tt.key, now: wallClock}
				one := newWorld(t, dsn, g.url+"/mcp", o)
				one.useOwnClient(t, tt.method, map[string]any{"o_auth_client_id": tt.id, "o_auth_key_id": tt.kid})
				before := g.tokens()
				token := together(t, one, join(t, dsn, o))
				pool, target := one.through(t)
				if err := call(t, pool, target); err != nil {
					t.Fatal(err)
				}
				if n := g.tokens() - before; n != 1 {
					t.Errorf("%d tokens reached the server", n)
				}
				if s := one.wantState(t, oauthclient.Connected, ""); s.Issuer != issuer || token == "" {
					t.Errorf("status %+v", s)
				}
			})
		})
	}
}
