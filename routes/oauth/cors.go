package oauth

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
)

// preflightAge is how long a browser may reuse a permission, in seconds.
const preflightAge = "600"

// shared lets the scripts of every site use a route that reads no cookie, with
// the one method (Fetch standard, "CORS protocol"). It answers what browsers
// ask beforehand and refuses other methods; done says that it did either.
func shared(c *fiber.Ctx, method string) (done bool, err error) {
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
		return true, fault.New(fault.KindMethodNotAllowed, fault.CodeMethodNotAllowed, "use %s here", method)
	}
}
