package public

import (
	"bytes"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/views/public"
	"mcpgateway/web"
)

// badgeCache is the Cache-Control of badges. Pages of other sites show them.
const badgeCache = "public, max-age=300"

// Badge serves GET /registry/:publisher/:server/badge.svg: the state of a server
// as an image.
func (r *Registry) Badge(c *fiber.Ctx) error {
	s, err := r.entry(c)
	if err != nil {
		return err
	}
	var image bytes.Buffer
	if err := public.Badge(s.Badge(r.check(s))).Render(c.UserContext(), &image); err != nil {
		return err
	}
	if web.Unchanged(c, web.ETag(image.String()), badgeCache) {
		return nil
	}
	c.Set(fiber.HeaderContentType, "image/svg+xml; charset=utf-8")
	return c.Send(image.Bytes())
}

// entry returns the server that the path names, or NOT_FOUND.
func (r *Registry) entry(c *fiber.Ctx) (public.CatalogEntry, error) {
	e, err := r.Catalog.EntryByName(c.Params("publisher"), c.Params("server"))
	return public.CatalogEntry{CatalogEntry: e}, err
}

// check returns the last check of a server, or nil.
func (r *Registry) check(s public.CatalogEntry) *models.CatalogCheck {
	check, _ := r.Checks.Check(s.ID)
	return check
}
