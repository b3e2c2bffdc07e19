package web

import "github.com/gofiber/fiber/v2"

// PublicCORS lets pages of every origin read what anybody may read anyway
// (Fetch standard, "CORS protocol"). Credentials are never sent there.
func PublicCORS(c *fiber.Ctx) error {
	c.Set(fiber.HeaderAccessControlAllowOrigin, "*")
	c.Set(fiber.HeaderAccessControlExposeHeaders, "ETag, Retry-After, "+HeaderRequestID)
	return c.Next()
}

// PublicPreflight answers the question whether a page of another origin may
// send its request.
func PublicPreflight(c *fiber.Ctx) error {
	c.Set(fiber.HeaderAccessControlAllowMethods, "GET, HEAD, OPTIONS")
	c.Set(fiber.HeaderAccessControlAllowHeaders, "*")
	c.Set(fiber.HeaderAccessControlMaxAge, "86400")
	return c.SendStatus(fiber.StatusNoContent)
}
