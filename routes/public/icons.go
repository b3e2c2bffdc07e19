package public

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/catalog/icons"
	"mcpgateway/services/fault"
	"mcpgateway/web"
)

// immutableCache is the Cache-Control of content at a URL that changes with it.
const immutableCache = "public, max-age=31536000, immutable"

// Icons serves the icons of catalog rows.
type Icons struct {
	icons *icons.Icons
}

// NewIcons returns the handler. stored may be nil.
func NewIcons(stored *icons.Icons) *Icons { return &Icons{stored} }

// Image serves GET /icons/:file, HASH.png.
func (i *Icons) Image(c *fiber.Ctx) error {
	hash, ok := strings.CutSuffix(c.Params("file"), ".png")
	if !ok {
		return fiber.ErrNotFound
	}
	image, err := i.icons.Image(c.UserContext(), hash)
	if fault.Is(err, fault.CodeNotFound) {
		return fiber.ErrNotFound
	}
	if err != nil || web.Unchanged(c, web.ETag(hash), immutableCache) {
		return err
	}
	c.Set(fiber.HeaderContentType, "image/png")
	return c.Send(image)
}
