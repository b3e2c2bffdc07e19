// Package public serves the pages that need no sign-in.
package public

import (
	"mime"
	"net/url"
	"path"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/static"
	"mcpgateway/views/layout"
	"mcpgateway/views/public"
	"mcpgateway/web"
)

// Home serves the start page.
type Home struct{ props public.HomeProps }

// NewHome returns the handler; addresses on the page begin with publicURL.
func NewHome(assets layout.Assets, publicURL *url.URL) *Home {
	return &Home{props: public.HomeProps{Assets: assets, PublicURL: publicURL.String()}}
}

// Page serves GET /.
func (h *Home) Page(c *fiber.Ctx) error { return web.Render(c, public.Home(h.props)) }

// Static serves GET /static/:hash/*: files whose address changes with their
// content, to be kept for ever.
func Static(c *fiber.Ctx) error {
	content, ok := static.Open(c.Params("hash"), c.Params("*"))
	if !ok {
		return fiber.ErrNotFound
	}
	c.Set(fiber.HeaderCacheControl, "public, max-age=31536000, immutable")
	c.Set(fiber.HeaderContentType, mime.TypeByExtension(path.Ext(c.Params("*"))))
	return c.Send(content)
}
