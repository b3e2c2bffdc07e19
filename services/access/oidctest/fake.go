package oidctest

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Behavior configures a fake provider. The zero value is a correct provider.
type Behavior struct {
	Document       func(document map[string]any)       // edits the discovery document
	Token          func(header, claims map[string]any) // edits the ID token
	Unsigned       bool                                // leaves the ID token's signature out
	UnpublishedKey bool                                // signs with an unpublished key
	UserInfo       map[string]any                      // response of the user info endpoint; nil without one
	Down           bool                                // responds to every request with 503
	InfoDown       bool                                // responds to requests for user info with 503
	Padding        int                                 // spaces before every document
}

// Fake is a configurable identity provider.
type Fake struct {
	Issuer string

	Discoveries atomic.Int64 // number of requests for the configuration
	Exchanges   atomic.Int64 // number of token requests
	UserInfos   atomic.Int64 // number of requests for user info

	now       func() time.Time
	key       *rsa.PrivateKey
	other     *rsa.PrivateKey // not published
	mu        sync.Mutex      // guards the fields below
	behaviour Behavior
	codes     map[string]url.Values // the authorize parameters of each code
}

// Behave sets the behavior for subsequent requests.
func (f *Fake) Behave(b Behavior) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.behaviour = b
}

func (f *Fake) does() Behavior {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.behaviour
}

// NewFake runs a provider until the test ends.
func NewFake(t testing.TB, now func() time.Time) *Fake {
	t.Helper()
	f := &Fake{now: now, codes: map[string]url.Values{}, key: newKey(t), other: newKey(t)}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", f.configuration)
	mux.HandleFunc("/keys", f.keys)
	mux.HandleFunc("/token", f.token)
	mux.HandleFunc("/userinfo", f.userInfo)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.Issuer = server.URL
	return f
}

func newKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Approve approves an authorization request and returns the code and the query
// of the request.
func (f *Fake) Approve(t testing.TB, authorizeURL string) (code string, params url.Values) {
	t.Helper()
	u, err := url.Parse(authorizeURL)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	code = rand.Text()
	f.codes[code] = u.Query()
	return code, u.Query()
}

func (f *Fake) configuration(w http.ResponseWriter, _ *http.Request) {
	f.Discoveries.Add(1)
	document := map[string]any{
		"issuer": f.Issuer, "authorization_endpoint": f.Issuer + "/authorize", "token_endpoint": f.Issuer + "/token", "jwks_uri": f.Issuer + "/keys",
		"id_token_signing_alg_values_supported": []string{"RS256"}, "code_challenge_methods_supported": []string{"S256"},
	}
	does := f.does()
	if does.UserInfo != nil {
		document["userinfo_endpoint"] = f.Issuer + "/userinfo"
	}
	if does.Document != nil {
		does.Document(document)
	}
	f.respond(w, http.StatusOK, document)
}

func (f *Fake) keys(w http.ResponseWriter, _ *http.Request) {
	encode := base64.RawURLEncoding.EncodeToString
	f.respond(w, http.StatusOK, map[string]any{"keys": []map[string]string{{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1", "n": encode(f.key.N.Bytes()), "e": encode(big.NewInt(int64(f.key.E)).Bytes()),
	}}})
}

func (f *Fake) token(w http.ResponseWriter, r *http.Request) {
	f.Exchanges.Add(1)
	if err := r.ParseForm(); err != nil {
		f.respond(w, http.StatusBadRequest, map[string]any{"error": "invalid_request"})
		return
	}
	f.mu.Lock()
	params, known := f.codes[r.Form.Get("code")]
	delete(f.codes, r.Form.Get("code"))
	f.mu.Unlock()
	challenge := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
	if !known || base64.RawURLEncoding.EncodeToString(challenge[:]) != params.Get("code_challenge") || r.Form.Get("redirect_uri") != params.Get("redirect_uri") {
		f.respond(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	f.respond(w, http.StatusOK, map[string]any{"access_token": "access", "token_type": "Bearer", "expires_in": 60, "id_token": f.idToken(params)})
}

func (f *Fake) userInfo(w http.ResponseWriter, _ *http.Request) {
	f.UserInfos.Add(1)
	does := f.does()
	if does.InfoDown {
		http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
		return
	}
	f.respond(w, http.StatusOK, does.UserInfo)
}

// idToken returns the ID token of an authorization, edited by the configured
// behavior.
func (f *Fake) idToken(params url.Values) string {
	header := map[string]any{"alg": "RS256", "kid": "1", "typ": "JWT"}
	claims := map[string]any{
		"iss": f.Issuer, "aud": params.Get("client_id"), "sub": "1234", "nonce": params.Get("nonce"),
		"iat": f.now().Unix(), "exp": f.now().Add(time.Minute).Unix(), "email": "ada@example.com", "email_verified": true, "name": "Ada",
	}
	does := f.does()
	if does.Token != nil {
		does.Token(header, claims)
	}
	text := part(header) + "." + part(claims)
	if does.Unsigned {
		return text + "."
	}
	key := f.key
	if does.UnpublishedKey {
		key = f.other
	}
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		return ""
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func part(v map[string]any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func (f *Fake) respond(w http.ResponseWriter, status int, v any) {
	does := f.does()
	if does.Down {
		http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(bytes.Repeat([]byte(" "), does.Padding)) // a client may disconnect
	_ = json.NewEncoder(w).Encode(v)
}
