package oauthclient

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// authority is the authorization server that an upstream server trusts, and
// what it takes to authorize there.
type authority struct {
	issuer         string
	issuerRequired bool // it promised to send iss (RFC 9207)
	authorize      string
	token          string
	register       string // empty without dynamic registration
	revoke         string // empty without revocation
	documents      bool   // it takes client metadata documents
	authMethods    []string
	scopes         []string // it supports; nil when it does not say

	resource   string   // to be named in requests; empty when the server published none
	challenged []string // scopes of the server's challenge
	offered    []string // scopes of the server's metadata
}

// challenge is what a server said when it refused a request (RFC 9728 section
// 5.1, RFC 6750 section 3).
type challenge struct {
	metadata string // URL of the protected resource metadata, or empty
	scopes   []string
	code     string // invalid_token, insufficient_scope, or empty
}

// parseChallenge reads the Bearer challenge of WWW-Authenticate values; ok is
// false without one.
func parseChallenge(values []string) (c challenge, ok bool) {
	for _, value := range values {
		all, err := oauthex.ParseWWWAuthenticate([]string{value})
		if err != nil {
			continue // another value may be readable
		}
		for _, one := range all {
			if one.Scheme == "bearer" {
				return challenge{metadata: one.Params["resource_metadata"], scopes: scopesOf(one.Params["scope"]), code: one.Params["error"]}, true
			}
		}
	}
	return challenge{}, false
}

// scopesOf returns the scopes of a space-separated list that can be sent back:
// visible characters but quotes and backslashes (RFC 6749 section 3.3).
func scopesOf(list string) []string { return usableScopes(strings.Fields(list)) }

func usableScopes(all []string) []string {
	var scopes []string
	for _, s := range all {
		if visible(s) && len(s) <= maxScope && !strings.ContainsAny(s, `"\`) && !slices.Contains(scopes, s) && len(scopes) < maxScopes {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// probe asks the server for its tools without credentials and returns its
// challenge, if it makes one. Nothing of the answer is used but that.
func (x *exchange) probe(ctx context.Context, serverURL string) (challenge, error) {
	u, err := url.Parse(serverURL)
	if err != nil {
		return challenge{}, fail(Degraded, codeUnreachable, "the server has an unusable URL")
	}
	ctx, cancel := context.WithTimeout(ctx, x.timeout)
	defer cancel()
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)))
	if err != nil {
		return challenge{}, fail(Degraded, codeUnreachable, "the server has an unusable URL")
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("Accept", "application/json, text/event-stream")
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return challenge{}, fail(Degraded, codeUnreachable, "the server has an unusable URL")
	}
	get.Header.Set("Accept", "text/event-stream") // HTTP+SSE answers only this
	for _, req := range []*http.Request{post, get} {
		resp, err := x.http.Do(req)
		if err != nil {
			return challenge{}, unreachable("the server", err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusUnauthorized {
			c, _ := parseChallenge(resp.Header.Values("WWW-Authenticate"))
			return c, nil
		}
		if resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusMethodNotAllowed {
			break
		}
	}
	return challenge{}, nil
}

// discover finds the authorization server of an upstream server (MCP
// 2026-07-28, "Authorization Server Discovery"). preferred is the issuer to
// take when the server trusts several. The error is a failure.
func (x *exchange) discover(ctx context.Context, serverURL string, c challenge, preferred string) (*authority, error) {
	resource, err := x.resource(ctx, serverURL, c)
	if err != nil {
		return nil, err
	}
	if resource == nil || len(resource.AuthorizationServers) == 0 {
		a, err := x.legacy(ctx, serverURL)
		if err != nil {
			return nil, err
		}
		a.challenged = c.scopes
		if resource != nil {
			a.resource, a.offered = resource.Resource, usableScopes(resource.ScopesSupported)
		}
		return a, nil
	}
	issuer := resource.AuthorizationServers[0]
	if slices.Contains(resource.AuthorizationServers, preferred) {
		issuer = preferred
	}
	a, err := x.metadata(ctx, issuer)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, fail(Degraded, codeNoMetadata, "the authorization server "+issuer+" publishes no metadata")
	}
	a.resource, a.offered, a.challenged = resource.Resource, usableScopes(resource.ScopesSupported), c.scopes
	return a, nil
}

// resource reads the protected resource metadata of a server, from where its
// challenge says or from the well-known places (RFC 9728 section 3). It
// returns nil when the server has none.
func (x *exchange) resource(ctx context.Context, serverURL string, c challenge) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(serverURL)
	if err != nil {
		return nil, fail(Degraded, codeUnreachable, "the server has an unusable URL")
	}
	places := []string{wellKnown(u, "oauth-protected-resource", u.EscapedPath())}
	if root := wellKnown(u, "oauth-protected-resource", ""); root != places[0] {
		places = append(places, root)
	}
	if c.metadata != "" {
		places = append([]string{c.metadata}, places...)
	}
	for _, place := range places {
		var doc oauthex.ProtectedResourceMetadata
		found, err := x.getJSON(ctx, "the resource metadata of the server", place, &doc)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		if !covers(doc.Resource, u) {
			return nil, fail(Degraded, codeResource, "the server's metadata is about another resource than its URL: "+doc.Resource)
		}
		for _, issuer := range doc.AuthorizationServers {
			if why := insecure(issuer); why != "" {
				return nil, fail(Degraded, codeEndpoint, "the server's authorization server "+why)
			}
		}
		return &doc, nil
	}
	return nil, nil
}

// covers reports whether a resource identifier stands for the URL: it is the
// same but for a final slash, or a parent of it on the same origin, as servers
// have that publish one document for all of their endpoints.
func covers(resource string, u *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || insecure(resource) != "" || !strings.EqualFold(r.Scheme, u.Scheme) || !strings.EqualFold(r.Host, u.Host) || r.RawQuery != "" && r.RawQuery != u.RawQuery {
		return false
	}
	parent, path := strings.TrimSuffix(r.EscapedPath(), "/"), strings.TrimSuffix(u.EscapedPath(), "/")
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// wellKnown returns a well-known URL at the origin of u, with the path
// inserted behind the name (RFC 8615, RFC 8414 section 3.1).
func wellKnown(u *url.URL, name, path string) string {
	return u.Scheme + "://" + u.Host + "/.well-known/" + name + strings.TrimSuffix(path, "/")
}

// metadata reads what an authorization server says of itself: RFC 8414 first,
// then OpenID Connect Discovery, each with the issuer's path inserted, then
// appended. It returns nil when there is nothing.
func (x *exchange) metadata(ctx context.Context, issuer string) (*authority, error) {
	u, err := url.Parse(issuer)
	if err != nil || insecure(issuer) != "" || u.RawQuery != "" {
		return nil, fail(Degraded, codeEndpoint, "the authorization server has an unusable issuer")
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{wellKnown(u, "oauth-authorization-server", path), wellKnown(u, "openid-configuration", path)}
	if path != "" {
		places = append(places, u.Scheme+"://"+u.Host+path+"/.well-known/openid-configuration")
	}
	for _, place := range places {
		var doc oauthex.AuthServerMeta
		found, err := x.getJSON(ctx, "the metadata of the authorization server", place, &doc)
		if err != nil {
			return nil, err
		}
		if found {
			return judged(&doc, issuer)
		}
	}
	return nil, nil
}

// judged returns the authority that a metadata document describes. The issuer
// is compared as it is (RFC 8414 section 3.3), and a document of another one
// is not used at all.
func judged(doc *oauthex.AuthServerMeta, issuer string) (*authority, error) {
	if doc.Issuer != issuer {
		return nil, fail(Degraded, codeIssuer, "the authorization server's metadata is of another issuer: "+doc.Issuer+" instead of "+issuer)
	}
	if !slices.Contains(doc.CodeChallengeMethodsSupported, "S256") {
		return nil, fail(Degraded, codePKCE, "the authorization server does not support PKCE with S256, which is required")
	}
	for _, endpoint := range []struct {
		name, url string
		required  bool
	}{
		{"authorization endpoint", doc.AuthorizationEndpoint, true},
		{"token endpoint", doc.TokenEndpoint, true},
		{"registration endpoint", doc.RegistrationEndpoint, false},
		{"revocation endpoint", doc.RevocationEndpoint, false},
	} {
		if endpoint.url == "" && !endpoint.required {
			continue
		}
		if why := insecure(endpoint.url); why != "" {
			return nil, fail(Degraded, codeEndpoint, "the authorization server's "+endpoint.name+" "+why)
		}
	}
	return &authority{
		issuer: issuer, issuerRequired: doc.AuthorizationResponseIssParameterSupported,
		authorize: doc.AuthorizationEndpoint, token: doc.TokenEndpoint, register: doc.RegistrationEndpoint, revoke: doc.RevocationEndpoint,
		documents: doc.ClientIDMetadataDocumentSupported, authMethods: doc.TokenEndpointAuthMethodsSupported, scopes: doc.ScopesSupported,
	}, nil
}

// legacy returns the authority of a server of revision 2025-03-26, which is
// its own origin: by its metadata, or with the default endpoints (MCP
// 2025-03-26, "Fallbacks for Servers without Metadata Discovery").
func (x *exchange) legacy(ctx context.Context, serverURL string) (*authority, error) {
	u, err := url.Parse(serverURL)
	if err != nil {
		return nil, fail(Degraded, codeUnreachable, "the server has an unusable URL")
	}
	origin := u.Scheme + "://" + u.Host
	if why := insecure(origin); why != "" {
		return nil, fail(Degraded, codeEndpoint, "the server publishes no authorization server and "+why)
	}
	a, err := x.metadata(ctx, origin)
	if err != nil || a != nil {
		return a, err
	}
	return &authority{issuer: origin, authorize: origin + "/authorize", token: origin + "/token", register: origin + "/register"}, nil
}

// wanted returns the scopes to ask for (MCP 2025-11-25, "Scope Selection
// Strategy"): those that were configured, else those of the challenge, else
// those that the server offers; with them the ones that are to be kept or were
// found missing, and offline_access where it is supported (SEP-2207).
func (a *authority) wanted(configured, further []string) []string {
	scopes := configured
	if len(scopes) == 0 {
		scopes = a.challenged
	}
	if len(scopes) == 0 {
		scopes = a.offered
	}
	scopes = usableScopes(slices.Concat(scopes, further))
	if len(scopes) > 0 && slices.Contains(a.scopes, scopeOffline) {
		scopes = usableScopes(append(scopes, scopeOffline))
	}
	return scopes
}

// scopeOffline is the scope that asks for a refresh token (OpenID Connect Core
// section 11).
const scopeOffline = "offline_access"
