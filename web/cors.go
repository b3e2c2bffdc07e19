package web

import "github.com/gofiber/fiber/v2"

// PublicCORS allows pages of every origin to read public data (Fetch standard,
// "CORS protocol"). Credentials are never allowed.
func PublicCORS(c *fiber.Ctx) error {
	c.Set(fiber.HeaderAccessControlAllowOrigin, "*")
	c.Set(fiber.HeaderAccessControlExposeHeaders, "ETag, Retry-After, "+HeaderRequestID)
	return c.Next()
}

// PublicPreflight responds to CORS preflight requests for public data.
func PublicPreflight(c *fiber.Ctx) error {
	c.Set(fiber.HeaderAccessControlAllowMethods, "GET, HEAD, OPTIONS")
	c.Set(fiber.HeaderAccessControlAllowHeaders, "*")
	c.Set(fiber.HeaderAccessControlMaxAge, "86400")
	return c.SendStatus(fiber.StatusNoContent)
}
