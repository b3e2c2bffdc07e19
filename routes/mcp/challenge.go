package mcp

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
)

// challenge says in the header of a 401 how a caller can prove itself (RFC
// 6750, section 3). For a project with authMode oauth it names the metadata
// that leads to the authorization server (RFC 9728, section 5.1) and the
// scopes to ask for; others name no metadata, so that clients do not look.
func (e *Endpoint) challenge(c *fiber.Ctx, project *toolset.Snapshot) {
	value := `Bearer realm="gateway"`
	if project.Project.AuthMode == models.AuthOAuth {
		value = e.bearer(c, project, string(access.ScopeRead)+" "+string(access.ScopeCall))
		if c.Get(fiber.HeaderAuthorization) != "" {
			value += `, error="invalid_token"`
		}
	}
	c.Set(fiber.HeaderWWWAuthenticate, value)
}

// bearer returns a challenge for the scopes of the endpoint that is asked.
// Slugs have no character that would end the quoted text.
func (e *Endpoint) bearer(c *fiber.Ctx, project *toolset.Snapshot, scopes string) string {
	endpoint := "request"
	if strings.HasSuffix(c.Path(), "/sse") {
		endpoint = "sse"
	}
	return `Bearer resource_metadata="` + e.PublicURL + `/.well-known/oauth-protected-resource/v1/mcp/` + project.Project.Slug + "/" + endpoint +
		`", scope="` + scopes + `"`
}

// permit refuses messages that the caller's token has no scope for. It returns
// FORBIDDEN, with a challenge that names the scope to ask for (MCP 2025-11-25,
// "Scope Challenge Handling").
func (e *Endpoint) permit(c *fiber.Ctx, project *toolset.Snapshot, principal access.Principal, messages []*message) error {
	if principal.Allows(access.ScopeCall) {
		return nil
	}
	for _, m := range messages {
		if m.isResponse() || m.err != nil {
			continue
		}
		needed := scopeOf(m)
		if principal.Allows(needed) {
			continue
		}
		c.Set(fiber.HeaderWWWAuthenticate, e.bearer(c, project, string(needed))+`, error="insufficient_scope"`)
		return fault.Forbidden("this token lacks the scope %s", needed)
	}
	return nil
}

// scopeOf returns the scope that a message needs (contract: built-in search
// and listTools read, every other tool is a call).
func scopeOf(m *message) access.Scope {
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

// authenticate proves the caller. A wrong key is UNAUTHORIZED, however often it
// is presented, because clients then prompt for another one. After a few from an
// address the fault has a time to wait, and after very many it is RATE_LIMITED.
// Right keys pass all the same, because many clients share an address and keys
// cannot be guessed. Tokens are not counted: clients renew one that expired
// after it is rejected.
func (e *Endpoint) authenticate(c *fiber.Ctx, project *toolset.Snapshot) (access.Principal, error) {
	presented := c.Get(fiber.HeaderAuthorization)
	principal, err := e.Auth.Authenticate(c.UserContext(), &project.Project, presented)
	if err == nil && !principal.Known() {
		err = fault.Unauthorized()
	}
	if err == nil {
		return principal, nil
	}
	if fault.Is(err, fault.CodeUnauthorized) {
		if presented != "" && project.Project.AuthMode == models.AuthAPIKey {
			if err = e.countWrongKey(c, err); !fault.Is(err, fault.CodeUnauthorized) {
				return access.Principal{}, err
			}
		}
		e.challenge(c, project)
	}
	return access.Principal{}, err
}

// countWrongKey counts a wrong key and returns its fault:
// unauthorized, with a time to wait when the address presented several, or
// RATE_LIMITED for an address that presented very many.
func (e *Endpoint) countWrongKey(c *fiber.Ctx, unauthorized error) error {
	if wait := e.WrongKeys.Spend(c); wait > 0 {
		f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "Too many wrong keys came from this address. Check the key in use and wait before the next request.")
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
