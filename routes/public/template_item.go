package public

import (
	"net/url"
	"slices"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/public"
	"mcpgateway/views/ui"
)

// Page serves GET /templates/:slug. For an unknown template it responds with
// 404 and similar names.
func (t *Templates) Page(c *fiber.Ctx) error {
	slug := c.Params("slug")
	row, err := t.catalog.Template(slug)
	if fault.Is(err, fault.CodeNotFound) {
		return t.notFound(c, err, slug)
	}
	if err != nil {
		return err
	}
	template := public.Template{CatalogTemplate: row}
	f := t.pages.frame(c, pageMeta{
		title: ui.Clean(row.Title), description: ui.Clean(row.Description), path: template.Path(), section: layout.SectionTemplates, data: t.pages.howTo(template),
		crumbs: []layout.Crumb{{Label: "Catalog", URL: paths.Registry}, {Label: "Templates", URL: paths.Templates}, {Label: ui.Clean(row.Title)}},
	})
	related := t.catalog.RelatedEntries(row)
	return render(c, f, public.TemplateItem(public.TemplateProps{
		Frame: f, Template: template, Servers: t.pages.entries.all(related), Missing: absent(row.RelatedServerNames, related),
		SignIn: paths.Login + "?" + url.Values{"next": {template.Path()}}.Encode(),
	}))
}

func (t *Templates) notFound(c *fiber.Ctx, err error, slug string) error {
	return t.pages.notFound(c, err, public.MissingProps{
		What: "template " + clipped(slug), Near: nearTemplates(c.UserContext(), t.catalog, slug), AllLabel: "See all templates", AllURL: paths.Templates,
	}, layout.SectionTemplates)
}

// absent returns the names without an entry.
func absent(names []string, entries []*models.CatalogEntry) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(entries, func(e *models.CatalogEntry) bool { return e.ServerName == name })
	})
}
