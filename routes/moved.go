package routes

import "github.com/gofiber/fiber/v2"

// moved redirects permanently to a page, with the query.
func moved(to string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if query := string(c.Request().URI().QueryString()); query != "" {
			return c.Redirect(to+"?"+query, fiber.StatusMovedPermanently)
		}
		return c.Redirect(to, fiber.StatusMovedPermanently)
	}
}
