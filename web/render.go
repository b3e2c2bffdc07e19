package web

import (
	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"
)

// Render answers with the page, under the status that is set.
func Render(c *fiber.Ctx, page templ.Component) error {
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return page.Render(c.UserContext(), c.Response().BodyWriter())
}
