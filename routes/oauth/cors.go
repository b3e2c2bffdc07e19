package oauth

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
)

// preflightAge is the Access-Control-Max-Age in seconds.
const preflightAge = "600"

// publicCORS allows scripts of all sites to use a route without cookies with one
// method (Fetch standard, "CORS protocol"). It responds to preflights and
// rejects other methods; done reports whether it did.
func publicCORS(c *fiber.Ctx, method string) (done bool, err error) {
	c.Set(fiber.HeaderAccessControlAllowOrigin, "*")
	c.Set(fiber.HeaderAccessControlExposeHeaders, "WWW-Authenticate, Retry-After, X-Request-Id")
	switch {
	case c.Method() == method, c.Method() == fiber.MethodHead && method == fiber.MethodGet:
		return false, nil
	case c.Method() == fiber.MethodOptions:
		c.Set(fiber.HeaderAllow, method)
		c.Set(fiber.HeaderAccessControlAllowMethods, method)
		c.Set(fiber.HeaderAccessControlAllowHeaders, "authorization, content-type, mcp-protocol-version")
		c.Set(fiber.HeaderAccessControlMaxAge, preflightAge)
		c.Status(fiber.StatusNoContent)
		return true, nil
	default:
		c.Set(fiber.HeaderAllow, method)
		return true, fault.New(fault.KindMethodNotAllowed, fault.CodeMethodNotAllowed, "Use %s.", method)
	}
}
