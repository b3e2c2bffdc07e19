package public

import (
	"mime"
	"path"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/static"
	"mcpgateway/web"
	"mcpgateway/web/compress"
)

// Static serves GET /static/:hash/*. The URL changes with the content of a
// file, so the response is cached permanently.
func Static(c *fiber.Ctx) error {
	return file(c, c.Params("hash"), c.Params("*"), immutableCache)
}

// Fixed serves a file of static at an address that browsers request without
// a link, which does not change with its content.
func Fixed(name string) fiber.Handler {
	hash := strings.Split(static.URL(name), "/")[2]
	return func(c *fiber.Ctx) error {
		if web.Unchanged(c, web.ETag(hash), fixedCache) {
			return nil
		}
		return file(c, hash, name, fixedCache)
	}
}

// fixedCache is the Cache-Control of files at fixed addresses.
const fixedCache = "public, max-age=86400"

func file(c *fiber.Ctx, hash, name, cache string) error {
	content, ok := static.Open(hash, name)
	if !ok {
		return fiber.ErrNotFound
	}
	compress.Once(c, hash)
	c.Set(fiber.HeaderCacheControl, cache)
	c.Set(fiber.HeaderContentType, contentType(name))
	return c.Send(content)
}

// contentType returns the type of a file, also where the system has no list of
// types.
func contentType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".ico":
		return "image/x-icon"
	case ".woff2":
		return "font/woff2"
	default:
		return mime.TypeByExtension(ext)
	}
}
