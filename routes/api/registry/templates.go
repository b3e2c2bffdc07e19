package registry

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/catalog"
)

// Templates serves the public catalog of templates.
type Templates struct {
	catalog *catalog.Catalog
}

// NewTemplates returns the handlers.
func NewTemplates(c *catalog.Catalog) *Templates { return &Templates{catalog: c} }

// List serves GET /api/templates, which only has the query mode.
func (t *Templates) List(c *fiber.Ctx) error {
	return cached(c, t.catalog, func() error {
		search, err := readParameters(c).search()
		if err != nil {
			return err
		}
		found, err := t.catalog.Templates(c.UserContext(), search)
		if err != nil {
			return err
		}
		return answerFound(c, found, catalog.NewTemplateItem)
	})
}
