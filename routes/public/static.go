package public

import (
	"mime"
	"path"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/static"
	"mcpgateway/web/compress"
)

// Static serves GET /static/:hash/*. The URL changes with the content of a
// file, so the response is cached permanently.
func Static(c *fiber.Ctx) error {
	content, ok := static.Open(c.Params("hash"), c.Params("*"))
	if !ok {
		return fiber.ErrNotFound
	}
	compress.Once(c, c.Params("hash"))
	c.Set(fiber.HeaderCacheControl, "public, max-age=31536000, immutable")
	c.Set(fiber.HeaderContentType, mime.TypeByExtension(path.Ext(c.Params("*"))))
	return c.Send(content)
}
