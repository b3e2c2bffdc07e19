package upstreamtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

func (e *EchoServer) origin() string { return strings.TrimSuffix(e.URL, e.opts.Path) }

// Grant returns a new access token of a person that doesn't expire.
func (e *EchoServer) Grant(person string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.issue(person, "access")
}

// SetLifetime sets the lifetime that new access tokens announce.
func (e *EchoServer) SetLifetime(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.life = d
}

// Revoke revokes the access tokens of a person, and with all also the refresh
// tokens.
func (e *EchoServer) Revoke(person string, all bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range e.tokens {
		if t.person == person && (all || t.kind == "access") {
			t.valid = false
		}
	}
}

// Refreshes returns how often tokens of a person were refreshed.
func (e *EchoServer) Refreshes(person string) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, who := range e.refresh {
		if who == person {
			n++
		}
	}
	return n
}

// Revoked returns the number of tokens that clients revoked.
func (e *EchoServer) Revoked() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.revoked
}

// issue returns a new token. The caller must hold the mutex.
func (e *EchoServer) issue(person, kind string) string {
	e.issued[person+kind]++
	text := kind + "-of-" + person + "-" + rand.Text()
	e.tokens[text] = &echoToken{name: fmt.Sprintf("%s-%d", person, e.issued[person+kind]), person: person, kind: kind, valid: true}
	return text
}

// serveAuthorization is the authorization server (RFC 8414, RFC 7591, RFC 6749,
// RFC 7009) with the metadata of the endpoint (RFC 9728).
func (e *EchoServer) serveAuthorization(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil {
		http.Error(w, "bad form", http.StatusBadRequest)
		return
	}
	switch o := e.origin(); r.URL.Path {
	case "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource" + e.opts.Path:
		writeDocument(w, http.StatusOK, map[string]any{"resource": e.URL, "authorization_servers": []string{o}})
	case "/.well-known/oauth-authorization-server":
		writeDocument(w, http.StatusOK, map[string]any{
			"issuer": o, "authorization_endpoint": o + "/authorize", "token_endpoint": o + "/token", "revocation_endpoint": o + "/revoke",
			"registration_endpoint": o + "/register", "response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none"}, "authorization_response_iss_parameter_supported": true,
		})
	case "/register":
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in) // an unreadable body has no redirect URIs
		writeDocument(w, http.StatusCreated, map[string]any{"client_id": "client-" + rand.Text(), "redirect_uris": in["redirect_uris"], "token_endpoint_auth_method": "none"})
	case "/authorize":
		e.authorize(w, r)
	case "/token":
		e.token(w, r.PostForm)
	case "/revoke":
		e.mu.Lock()
		e.revoked++
		if t := e.tokens[r.PostForm.Get("token")]; t != nil {
			t.valid = false
		}
		e.mu.Unlock()
	default:
		http.NotFound(w, r)
	}
}

func (e *EchoServer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	to, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("code_challenge_method") != "S256" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	e.mu.Lock()
	e.codes[code] = map[string]string{"person": q.Get("person"), "challenge": q.Get("code_challenge"), "redirect": q.Get("redirect_uri")}
	e.mu.Unlock()
	to.RawQuery = url.Values{"state": {q.Get("state")}, "code": {code}, "iss": {e.origin()}}.Encode()
	http.Redirect(w, r, to.String(), http.StatusFound)
}

func (e *EchoServer) token(w http.ResponseWriter, form url.Values) {
	e.mu.Lock()
	defer e.mu.Unlock()
	person, ok := "", false
	switch form.Get("grant_type") {
	case "authorization_code":
		code := e.codes[form.Get("code")]
		delete(e.codes, form.Get("code"))
		sum := sha256.Sum256([]byte(form.Get("code_verifier")))
		person = code["person"]
		ok = person != "" && code["redirect"] == form.Get("redirect_uri") && code["challenge"] == base64.RawURLEncoding.EncodeToString(sum[:])
	case "refresh_token":
		if t := e.tokens[form.Get("refresh_token")]; t != nil && t.kind == "refresh" && t.valid {
			person, ok, t.valid = t.person, true, false
			e.refresh = append(e.refresh, person)
		}
	}
	if !ok {
		writeDocument(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	writeDocument(w, http.StatusOK, map[string]any{
		"access_token": e.issue(person, "access"), "refresh_token": e.issue(person, "refresh"), "token_type": "Bearer", "expires_in": int(e.life.Seconds()),
	})
}

func writeDocument(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// Shared returns the sessions that more than one person used.
func (e *EchoServer) Shared() (ids []string) {
	for id, people := range e.People() {
		if len(people) > 1 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Issue returns new tokens of a person.
func (e *EchoServer) Issue(person string) (access, refresh string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.issue(person, "access"), e.issue(person, "refresh")
}

// AllRefreshes returns how often tokens were refreshed.
func (e *EchoServer) AllRefreshes() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.refresh)
}
