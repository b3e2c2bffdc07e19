package web

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
)

// TokenChecker knows one bearer token.
type TokenChecker interface{ Matches(token string) bool }

// RequireToken admits requests whose bearer token matches.
func RequireToken(token TokenChecker) fiber.Handler {
	return func(c *fiber.Ctx) error {
		scheme, given, _ := strings.Cut(c.Get(fiber.HeaderAuthorization), " ")
		if !strings.EqualFold(scheme, "bearer") || !token.Matches(strings.TrimSpace(given)) {
			c.Set(fiber.HeaderWWWAuthenticate, `Bearer realm="gateway administration"`)
			return fault.Unauthorized()
		}
		return c.Next()
	}
}
