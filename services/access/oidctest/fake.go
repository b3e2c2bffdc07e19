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

// Behaviour is what a fake provider does. The zero value is honest.
type Behaviour struct {
	Document func(document map[string]any)       // edits the discovery document
	Token    func(header, claims map[string]any) // edits the ID token
	Unsigned bool                                // leaves the ID token's signature out
	Foreign  bool                                // signs with a key that is not published
	UserInfo map[string]any                      // what the user info endpoint says; nil has none
	Down     bool                                // answers everything with 503
	InfoDown bool                                // answers requests for user info with 503
	Padding  int                                 // spaces in front of every document
}

// Fake is an identity provider that does as it is told.
type Fake struct {
	Issuer string

	Discoveries atomic.Int64 // how often the configuration was read
	Exchanges   atomic.Int64 // how often a code was redeemed
	UserInfos   atomic.Int64 // number of requests for user info

	now       func() time.Time
	key       *rsa.PrivateKey
	other     *rsa.PrivateKey // is published nowhere
	mu        sync.Mutex      // guards what follows
	behaviour Behaviour
	codes     map[string]url.Values // the authorize parameters of each code
}

// Behave says what the provider does from now on.
func (f *Fake) Behave(b Behaviour) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.behaviour = b
}

func (f *Fake) does() Behaviour {
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

// Approve plays the person who agrees, and returns the code of the answer.
func (f *Fake) Approve(t testing.TB, authorizeURL string) (code string, asked url.Values) {
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
	f.answer(w, http.StatusOK, document)
}

func (f *Fake) keys(w http.ResponseWriter, _ *http.Request) {
	encode := base64.RawURLEncoding.EncodeToString
	f.answer(w, http.StatusOK, map[string]any{"keys": []map[string]string{{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1", "n": encode(f.key.N.Bytes()), "e": encode(big.NewInt(int64(f.key.E)).Bytes()),
	}}})
}

func (f *Fake) token(w http.ResponseWriter, r *http.Request) {
	f.Exchanges.Add(1)
	if err := r.ParseForm(); err != nil {
		f.answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_request"})
		return
	}
	f.mu.Lock()
	asked, known := f.codes[r.Form.Get("code")]
	delete(f.codes, r.Form.Get("code"))
	f.mu.Unlock()
	challenge := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
	if !known || base64.RawURLEncoding.EncodeToString(challenge[:]) != asked.Get("code_challenge") || r.Form.Get("redirect_uri") != asked.Get("redirect_uri") {
		f.answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	f.answer(w, http.StatusOK, map[string]any{"access_token": "access", "token_type": "Bearer", "expires_in": 60, "id_token": f.idToken(asked)})
}

func (f *Fake) userInfo(w http.ResponseWriter, _ *http.Request) {
	f.UserInfos.Add(1)
	does := f.does()
	if does.InfoDown {
		http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
		return
	}
	f.answer(w, http.StatusOK, does.UserInfo)
}

// idToken returns the ID token of an authorization, edited as told.
func (f *Fake) idToken(asked url.Values) string {
	header := map[string]any{"alg": "RS256", "kid": "1", "typ": "JWT"}
	claims := map[string]any{
		"iss": f.Issuer, "aud": asked.Get("client_id"), "sub": "1234", "nonce": asked.Get("nonce"),
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
	if does.Foreign {
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

func (f *Fake) answer(w http.ResponseWriter, status int, v any) {
	does := f.does()
	if does.Down {
		http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(bytes.Repeat([]byte(" "), does.Padding)) // whoever hangs up has seen enough
	_ = json.NewEncoder(w).Encode(v)
}
