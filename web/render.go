package web

import (
	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"
)

// Render responds with the page and the current status.
func Render(c *fiber.Ctx, page templ.Component) error {
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return page.Render(c.UserContext(), c.Response().BodyWriter())
}
