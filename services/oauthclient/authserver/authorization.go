package authserver

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// scopeOffline is the scope that requests a refresh token (OpenID Connect Core
// section 11).
const scopeOffline = "offline_access"

// RequestScopes returns the scopes to request (MCP 2025-11-25, "Scope Selection
// Strategy"): the configured ones, or else those of the challenge, or else
// those that the server offers. It adds further, and offline_access if it is
// supported (SEP-2207).
func (m *Metadata) RequestScopes(configured, further []string) []string {
	scopes := ValidScopes(slices.Concat(m.ClientScopes(configured), further))
	if len(scopes) > 0 && slices.Contains(m.supported, scopeOffline) {
		scopes = ValidScopes(append(scopes, scopeOffline))
	}
	return scopes
}

// AuthorizationRequest holds the parameters of an authorization request.
type AuthorizationRequest struct {
	ClientID, RedirectURI string
	State, Verifier       string
	Scopes                []string
}

// AuthorizationURL returns the URL to redirect the browser to (RFC 6749 section
// 4.1.1, RFC 7636 section 4.3, RFC 8707 section 2). It preserves the query of
// the endpoint.
func (m *Metadata) AuthorizationURL(r AuthorizationRequest) (string, error) {
	u, err := url.Parse(m.AuthorizationEndpoint)
	if err != nil {
		return "", newError(Temporary, codeEndpoint, "The authorization endpoint has an invalid URL.")
	}
	challenge := sha256.Sum256([]byte(r.Verifier))
	q := u.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": r.ClientID, "redirect_uri": r.RedirectURI, "state": r.State,
		"code_challenge": base64.RawURLEncoding.EncodeToString(challenge[:]), "code_challenge_method": "S256",
		"scope": strings.Join(r.Scopes, " "), "resource": m.Resource,
	} {
		q.Del(name)
		if value != "" {
			q.Set(name, value)
		}
	}
	if slices.Contains(r.Scopes, scopeOffline) {
		q.Set("prompt", "consent") // required by OpenID Connect Core section 11
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// ClientScopes is like RequestScopes for the gateway's own tokens, which have no
// refresh token.
func (m *Metadata) ClientScopes(configured []string) []string {
	for _, scopes := range [][]string{configured, m.challenged, m.offered} {
		if len(scopes) > 0 {
			return ValidScopes(scopes)
		}
	}
	return nil
}
