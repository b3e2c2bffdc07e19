package authserver

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Metadata describes the authorization server of an upstream server.
type Metadata struct {
	Issuer                string
	IssuerRequired        bool // authorization responses must have iss (RFC 9207)
	AuthorizationEndpoint string
	TokenEndpoint         string
	RegistrationEndpoint  string // empty without dynamic registration
	RevocationEndpoint    string // empty without revocation
	DocumentsSupported    bool   // client metadata documents are supported
	Resource              string // resource indicator for requests; empty if the server publishes none

	pkce        bool // S256 is supported
	authMethods []string
	supported   []string // scopes of the authorization server; nil if not published
	challenged  []string // scopes of the server's challenge
	offered     []string // scopes of the server's resource metadata
}

// Discover finds the authorization server of an upstream server (MCP
// 2026-07-28, "Authorization Server Discovery"). preferred is the issuer to
// select if the server trusts several.
func (x *Client) Discover(ctx context.Context, serverURL string, c Challenge, preferred string) (*Metadata, error) {
	m, err := x.DiscoverToken(ctx, serverURL, c, preferred)
	switch {
	case err != nil:
		return nil, err
	case !m.pkce:
		return nil, newError(Temporary, codePKCE, "The authorization server doesn't support PKCE with S256, which is required.")
	case m.AuthorizationEndpoint == "":
		return nil, newError(Temporary, codeEndpoint, "The authorization server's authorization endpoint "+insecure("")+".")
	}
	return m, nil
}

// DiscoverToken is like Discover for requests to the token endpoint alone. Those
// require neither an authorization endpoint nor PKCE.
func (x *Client) DiscoverToken(ctx context.Context, serverURL string, c Challenge, preferred string) (*Metadata, error) {
	resource, err := x.resource(ctx, serverURL, c)
	if err != nil {
		return nil, err
	}
	if resource == nil || len(resource.AuthorizationServers) == 0 {
		m, err := x.legacy(ctx, serverURL)
		if err != nil {
			return nil, err
		}
		m.challenged = c.Scopes
		if resource != nil {
			m.Resource, m.offered = resource.Resource, ValidScopes(resource.ScopesSupported)
		}
		return m, nil
	}
	issuer := resource.AuthorizationServers[0]
	if slices.Contains(resource.AuthorizationServers, preferred) {
		issuer = preferred
	}
	m, err := x.metadata(ctx, issuer)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, newError(Temporary, codeNoMetadata, "The authorization server "+issuer+" publishes no metadata.")
	}
	m.Resource, m.offered, m.challenged = resource.Resource, ValidScopes(resource.ScopesSupported), c.Scopes
	return m, nil
}

// TrustedIssuers returns the issuers in the resource metadata of an upstream
// server, or none if it doesn't publish them.
func (x *Client) TrustedIssuers(ctx context.Context, serverURL string, c Challenge) ([]string, error) {
	doc, err := x.resource(ctx, serverURL, c)
	if err != nil || doc == nil {
		return nil, err
	}
	return doc.AuthorizationServers, nil
}

// resource reads the protected resource metadata of a server from the URL in
// its challenge or a well-known URL (RFC 9728 section 3). It returns nil if the
// server has none.
func (x *Client) resource(ctx context.Context, serverURL string, c Challenge) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(serverURL)
	if err != nil {
		return nil, invalidServerURL()
	}
	locations := []string{wellKnown(u, "oauth-protected-resource", u.EscapedPath())}
	if root := wellKnown(u, "oauth-protected-resource", ""); root != locations[0] {
		locations = append(locations, root)
	}
	if c.metadata != "" {
		locations = append([]string{c.metadata}, locations...)
	}
	for _, location := range locations {
		var doc oauthex.ProtectedResourceMetadata
		found, err := x.getJSON(ctx, "The server's resource metadata", location, &doc)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		if !covers(doc.Resource, u) {
			return nil, newError(Temporary, codeResource, "The server's resource metadata is for another URL: "+doc.Resource)
		}
		for _, issuer := range doc.AuthorizationServers {
			if why := insecure(issuer); why != "" {
				return nil, newError(Temporary, codeEndpoint, "The server's authorization server "+why+".")
			}
		}
		return &doc, nil
	}
	return nil, nil
}

// covers reports whether a resource identifier applies to the URL. It must be
// equal except for a trailing slash, or a parent on the same origin, because
// some servers publish one document for all of their endpoints.
func covers(resource string, u *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || insecure(resource) != "" || !strings.EqualFold(r.Scheme, u.Scheme) || !strings.EqualFold(r.Host, u.Host) || r.RawQuery != "" && r.RawQuery != u.RawQuery {
		return false
	}
	parent, path := strings.TrimSuffix(r.EscapedPath(), "/"), strings.TrimSuffix(u.EscapedPath(), "/")
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// wellKnown returns a well-known URL at the origin of u, with the path after
// the name (RFC 8615, RFC 8414 section 3.1).
func wellKnown(u *url.URL, name, path string) string {
	return u.Scheme + "://" + u.Host + "/.well-known/" + name + strings.TrimSuffix(path, "/")
}

// metadata reads the metadata of an issuer: first RFC 8414, then OpenID Connect
// Discovery with the issuer's path inserted and appended. It returns nil if
// none is published.
func (x *Client) metadata(ctx context.Context, issuer string) (*Metadata, error) {
	u, err := url.Parse(issuer)
	if err != nil || insecure(issuer) != "" || u.RawQuery != "" {
		return nil, newError(Temporary, codeEndpoint, "The authorization server has an invalid issuer.")
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	locations := []string{wellKnown(u, "oauth-authorization-server", path), wellKnown(u, "openid-configuration", path)}
	if path != "" {
		locations = append(locations, u.Scheme+"://"+u.Host+path+"/.well-known/openid-configuration")
	}
	for _, location := range locations {
		var doc oauthex.AuthServerMeta
		found, err := x.getJSON(ctx, "The authorization server's metadata", location, &doc)
		if err != nil {
			return nil, err
		}
		if found {
			return validate(&doc, issuer)
		}
	}
	return nil, nil
}

// validate converts a metadata document. Its issuer must be equal to the
// requested one (RFC 8414 section 3.3).
func validate(doc *oauthex.AuthServerMeta, issuer string) (*Metadata, error) {
	if doc.Issuer != issuer {
		return nil, newError(Temporary, CodeIssuer, "The authorization server's metadata has issuer "+doc.Issuer+" instead of "+issuer+".")
	}
	for _, endpoint := range []struct {
		name, url string
		required  bool
	}{
		{"authorization endpoint", doc.AuthorizationEndpoint, false},
		{"token endpoint", doc.TokenEndpoint, true},
		{"registration endpoint", doc.RegistrationEndpoint, false},
		{"revocation endpoint", doc.RevocationEndpoint, false},
	} {
		if endpoint.url == "" && !endpoint.required {
			continue
		}
		if why := insecure(endpoint.url); why != "" {
			return nil, newError(Temporary, codeEndpoint, "The authorization server's "+endpoint.name+" "+why+".")
		}
	}
	return &Metadata{
		Issuer: issuer, IssuerRequired: doc.AuthorizationResponseIssParameterSupported,
		AuthorizationEndpoint: doc.AuthorizationEndpoint, TokenEndpoint: doc.TokenEndpoint,
		RegistrationEndpoint: doc.RegistrationEndpoint, RevocationEndpoint: doc.RevocationEndpoint,
		DocumentsSupported: doc.ClientIDMetadataDocumentSupported, pkce: slices.Contains(doc.CodeChallengeMethodsSupported, "S256"), authMethods: doc.TokenEndpointAuthMethodsSupported, supported: doc.ScopesSupported,
	}, nil
}

// legacy returns the authorization server of a server with revision
// 2025-03-26, which is the server's origin, from its metadata or with the
// default endpoints (MCP 2025-03-26, "Fallbacks for Servers without Metadata
// Discovery").
func (x *Client) legacy(ctx context.Context, serverURL string) (*Metadata, error) {
	u, err := url.Parse(serverURL)
	if err != nil {
		return nil, invalidServerURL()
	}
	origin := u.Scheme + "://" + u.Host
	if why := insecure(origin); why != "" {
		return nil, newError(Temporary, codeEndpoint, "The server publishes no authorization server and "+why+".")
	}
	m, err := x.metadata(ctx, origin)
	if err != nil || m != nil {
		return m, err
	}
	return &Metadata{
		Issuer: origin, pkce: true, AuthorizationEndpoint: origin + "/authorize", TokenEndpoint: origin + "/token", RegistrationEndpoint: origin + "/register",
	}, nil
}
