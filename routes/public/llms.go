package public

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/web"
)

// Text serves GET /registry/:publisher/:server/llms.txt: a server in Markdown
// for models (https://llmstxt.org).
func (r *Registry) Text(c *fiber.Ctx) error {
	s, err := r.entry(c)
	if err != nil {
		return err
	}
	body := s.Text(r.Pages.publicURL.String(), r.check(s))
	c.Set(fiber.HeaderContentType, fiber.MIMETextPlainCharsetUTF8)
	if web.Unchanged(c, web.ETag(body), feedCache) {
		return nil
	}
	return c.SendString(body)
}
