package mcp

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset/views"
)

// challenge sets the WWW-Authenticate header of a 401 (RFC 6750, section 3).
// For a project with authMode oauth, it contains the URL of the metadata that
// leads to the authorization server (RFC 9728, section 5.1) and the scopes to
// request. Other projects have no metadata, so that clients don't try OAuth.
func (e *Endpoint) challenge(c *fiber.Ctx, at *views.Endpoint) {
	value := `Bearer realm="gateway"`
	if at.Project().AuthMode == models.AuthOAuth {
		value = e.bearer(c, at, string(access.ScopeRead)+" "+string(access.ScopeCall))
		if c.Get(fiber.HeaderAuthorization) != "" {
			value += `, error="invalid_token"`
		}
	}
	c.Set(fiber.HeaderWWWAuthenticate, value)
}

// bearer returns a challenge for the requested endpoint and the scopes. Slugs
// have no characters that must be escaped.
func (e *Endpoint) bearer(c *fiber.Ctx, at *views.Endpoint, scopes string) string {
	endpoint := "request"
	if strings.HasSuffix(c.Path(), "/sse") {
		endpoint = "sse"
	}
	return `Bearer resource_metadata="` + e.PublicURL + `/.well-known/oauth-protected-resource` + at.Path() + "/" + endpoint +
		`", scope="` + scopes + `"`
}

// permit returns FORBIDDEN for messages outside the scopes of the caller's
// token. It then sets a challenge with the required scope (MCP 2025-11-25,
// "Scope Challenge Handling").
func (e *Endpoint) permit(c *fiber.Ctx, in *admitted, messages []*message) error {
	if in.principal.Allows(access.ScopeCall) {
		return nil
	}
	for _, m := range messages {
		if m.isResponse() || m.err != nil {
			continue
		}
		needed := requiredScope(m)
		if in.principal.Allows(needed) {
			continue
		}
		c.Set(fiber.HeaderWWWAuthenticate, e.bearer(c, in.at, string(needed))+`, error="insufficient_scope"`)
		return fault.Forbidden("The access token lacks the scope %s. Request a token with this scope.", needed)
	}
	return nil
}

// requiredScope returns the scope required by a message. The built-in tools search
// and listTools require ScopeRead, all other tools ScopeCall (contract).
func requiredScope(m *message) access.Scope {
	if strings.HasPrefix(m.method, "tasks/") {
		return access.ScopeCall
	}
	if m.method != methodCall {
		return access.ScopeRead
	}
	params, err := rawjson.ParseObject(m.params, rawjson.Strict)
	if err != nil {
		return access.ScopeCall
	}
	switch name, _ := params.String("name"); name {
	case gateway.ToolSearch, gateway.ToolList:
		return access.ScopeRead
	default:
		return access.ScopeCall
	}
}

// admit authenticates the caller and returns what it sees. It returns
// UNAUTHORIZED for a wrong key, because clients then prompt for another one, and
// in the same bytes for a caller who holds nothing at the endpoint. After
// several wrong keys from an address the fault has a RetryAfter, and after very
// many it becomes RATE_LIMITED. Valid keys are still accepted then, because many
// clients can share an address and keys can't be guessed. Tokens are not
// counted: clients renew an expired token only after it is rejected.
func (e *Endpoint) admit(c *fiber.Ctx, at *views.Endpoint) (*admitted, error) {
	presented := c.Get(fiber.HeaderAuthorization)
	in := &admitted{at: at}
	var err error
	if in.principal, err = e.Auth.Authenticate(c.UserContext(), at.Project(), at.ToolsetID(), presented); err == nil {
		in.view, err = e.Views.Of(at, in.principal)
	}
	if err == nil {
		return in, nil
	}
	if fault.Is(err, fault.CodeUnauthorized) {
		if presented != "" && at.Project().AuthMode == models.AuthAPIKey {
			if err = e.countWrongKey(c, err); !fault.Is(err, fault.CodeUnauthorized) {
				return nil, err
			}
		}
		e.challenge(c, at)
	}
	return nil, err
}

// countWrongKey counts a wrong key and returns its fault: unauthorized, with a
// RetryAfter after several wrong keys from the address, or RATE_LIMITED after
// very many.
func (e *Endpoint) countWrongKey(c *fiber.Ctx, unauthorized error) error {
	if wait := e.WrongKeys.Spend(c); wait > 0 {
		f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "Too many requests with wrong keys from this address. Check the key and retry later.")
		f.RetryAfter = wait
		return f
	}
	limited := e.Failures.Failed(c, "")
	if limited == nil {
		return unauthorized
	}
	f := *fault.From(unauthorized)
	f.RetryAfter = fault.From(limited).RetryAfter
	return &f
}
