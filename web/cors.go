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

// ReadableWithKey allows pages of every origin to read data that requires a key
// in the Authorization header. It follows PublicCORS.
func ReadableWithKey(c *fiber.Ctx) {
	c.Set(fiber.HeaderAccessControlExposeHeaders, "ETag, Retry-After, WWW-Authenticate, "+HeaderRequestID)
}

// KeyPreflight responds to CORS preflight requests for data that a key may
// protect. It names Authorization, which * does not cover.
func KeyPreflight(c *fiber.Ctx) error {
	if err := PublicPreflight(c); err != nil {
		return err
	}
	c.Set(fiber.HeaderAccessControlAllowHeaders, "Authorization, *")
	return nil
}
