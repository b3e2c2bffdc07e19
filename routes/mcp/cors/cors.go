// Package cors handles requests of web pages to project endpoints: CORS, and
// the rejection of cross-site requests.
package cors

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
)

// preflightAge is the time in seconds for which browsers may cache the response
// to a preflight.
const preflightAge = "600"

// allowedHeaders returns the request headers that scripts of allowed origins
// may set, in lower case. Headers with the prefix paramHeader are allowed too.
func allowedHeaders() []string {
	return []string{
		"accept", "authorization", "content-type", "last-event-id", "mcp-method", "mcp-name",
		"mcp-protocol-version", "mcp-session-id", "traceparent", "tracestate", "baggage",
	}
}

// paramHeader is the prefix of headers that repeat tool arguments (MCP
// 2026-07-28).
const paramHeader = "mcp-param-"

// AllowOrigin allows scripts of the request's origin to read the response
// (Fetch standard, "CORS protocol"). The origin must have been checked before.
func AllowOrigin(c *fiber.Ctx) {
	origin := c.Get(fiber.HeaderOrigin)
	if origin == "" {
		return
	}
	c.Vary(fiber.HeaderOrigin)
	c.Set(fiber.HeaderAccessControlAllowOrigin, origin)
	c.Set(fiber.HeaderAccessControlExposeHeaders, "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After, X-Request-Id")
}

// Preflight responds to OPTIONS. Browsers send it without credentials.
func Preflight(c *fiber.Ctx, methods string) error {
	c.Set(fiber.HeaderAllow, methods)
	c.Status(fiber.StatusNoContent)
	if c.Get(fiber.HeaderOrigin) == "" {
		return nil
	}
	headers := allowedHeaders()
	for name := range strings.SplitSeq(c.Get(fiber.HeaderAccessControlRequestHeaders), ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if strings.HasPrefix(name, paramHeader) && isToken(name) && !slices.Contains(headers, name) {
			headers = append(headers, name)
		}
	}
	c.Set(fiber.HeaderAccessControlAllowMethods, methods)
	c.Set(fiber.HeaderAccessControlAllowHeaders, strings.Join(headers, ", "))
	c.Set(fiber.HeaderAccessControlMaxAge, preflightAge)
	return nil
}

// isToken reports whether name is a valid header name in lower case (RFC 9110,
// section 5.6.2).
func isToken(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// RejectCrossSite returns FORBIDDEN for a GET that a page of another site
// makes the browser send, for example with an image or a link (W3C Fetch
// Metadata). Browsers send such requests without a preflight and without Origin.
// Requests of scripts have an Origin, which was checked before.
func RejectCrossSite(c *fiber.Ctx) error {
	if c.Get(fiber.HeaderOrigin) != "" {
		return nil // the origin was checked before
	}
	switch c.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return fault.Forbidden("Cross-site requests are not allowed.")
	default:
		return nil
	}
}
