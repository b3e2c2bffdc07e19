// Package cors decides what scripts and pages of other sites may do at project
// endpoints.
package cors

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
)

// preflightAge is how long a browser may reuse the answer, in seconds.
const preflightAge = "600"

// allowedHeaders are the request headers that scripts of allowed origins may
// set, in lower case. Besides there are those that begin with paramHeader.
func allowedHeaders() []string {
	return []string{
		"accept", "authorization", "content-type", "last-event-id", "mcp-method", "mcp-name",
		"mcp-protocol-version", "mcp-session-id", "traceparent", "tracestate", "baggage",
	}
}

// paramHeader begins the headers that repeat tool arguments (MCP 2026-07-28).
const paramHeader = "mcp-param-"

// ShareWithOrigin lets scripts of the request's origin, which was checked
// before, read the answer (Fetch standard, "CORS protocol").
func ShareWithOrigin(c *fiber.Ctx) {
	origin := c.Get(fiber.HeaderOrigin)
	if origin == "" {
		return
	}
	c.Vary(fiber.HeaderOrigin)
	c.Set(fiber.HeaderAccessControlAllowOrigin, origin)
	c.Set(fiber.HeaderAccessControlExposeHeaders, "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After, X-Request-Id")
}

// Preflight answers OPTIONS. Browsers send it without credentials.
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

// isToken reports whether a header name has the form of one in lower case
// (RFC 9110, section 5.6.2).
func isToken(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// RefuseForeignPages refuses a GET that a page of another site makes a browser
// send, as an image or a link does. Such requests need no permission and have
// no Origin, which tells those of scripts apart (W3C Fetch Metadata).
func RefuseForeignPages(c *fiber.Ctx) error {
	if c.Get(fiber.HeaderOrigin) != "" {
		return nil // it was checked
	}
	switch c.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return fault.Forbidden("a page of another site may not call tools here")
	default:
		return nil
	}
}
