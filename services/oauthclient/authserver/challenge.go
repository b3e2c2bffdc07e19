package authserver

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Limits of scopes.
const (
	maxScopes = 100
	maxScope  = 256 // bytes per scope
)

// Challenge is the Bearer challenge of a server that rejected a request (RFC
// 9728 section 5.1, RFC 6750 section 3).
type Challenge struct {
	Scopes []string
	Code   string // invalid_token, insufficient_scope, or empty

	metadata string // URL of the protected resource metadata, or empty
}

// ParseChallenge returns the first Bearer challenge of WWW-Authenticate values.
// ok is false if there is none.
func ParseChallenge(values []string) (c Challenge, ok bool) {
	for _, value := range values {
		all, err := oauthex.ParseWWWAuthenticate([]string{value})
		if err != nil {
			continue // another value may be valid
		}
		for _, one := range all {
			if one.Scheme == "bearer" {
				return Challenge{metadata: one.Params["resource_metadata"], Scopes: parseScopes(one.Params["scope"]), Code: one.Params["error"]}, true
			}
		}
	}
	return Challenge{}, false
}

// parseScopes returns the valid scopes of a space-separated list.
func parseScopes(list string) []string { return ValidScopes(strings.Fields(list)) }

// ValidScopes returns the distinct scopes that can be sent in a request:
// visible ASCII without quotes and backslashes (RFC 6749 section 3.3), at most
// 100 of at most 256 bytes.
func ValidScopes(all []string) []string {
	var scopes []string
	for _, s := range all {
		if IsVisible(s) && len(s) <= maxScope && !strings.ContainsAny(s, `"\`) && !slices.Contains(scopes, s) && len(scopes) < maxScopes {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// Probe requests the tools of an MCP server without credentials and returns its
// challenge, or the zero Challenge. Nothing else of the response is used.
func (x *Client) Probe(ctx context.Context, serverURL string) (Challenge, error) {
	u, err := url.Parse(serverURL)
	if err != nil {
		return Challenge{}, invalidServerURL()
	}
	ctx, cancel := context.WithTimeout(ctx, x.timeout)
	defer cancel()
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)))
	if err != nil {
		return Challenge{}, invalidServerURL()
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("Accept", "application/json, text/event-stream")
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Challenge{}, invalidServerURL()
	}
	get.Header.Set("Accept", "text/event-stream") // HTTP+SSE accepts only this
	for _, req := range []*http.Request{post, get} {
		resp, err := x.http.Do(req)
		if err != nil {
			return Challenge{}, unreachable("The server", err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusUnauthorized {
			c, _ := ParseChallenge(resp.Header.Values("WWW-Authenticate"))
			return c, nil
		}
		if resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusMethodNotAllowed {
			break
		}
	}
	return Challenge{}, nil
}

func invalidServerURL() *Error {
	return newError(Temporary, codeUnreachable, "The server has an invalid URL.")
}
