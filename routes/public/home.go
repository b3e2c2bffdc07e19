// Package public serves the pages that require no sign-in.
package public

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/catalog"
	"mcpgateway/views/layout"
	"mcpgateway/views/public"
)

// Number of catalog rows on the home page.
const (
	homeServers   = 8
	homeTemplates = 4
)

// Home serves the home page.
type Home struct {
	pages   *Pages
	catalog *catalog.Catalog
}

// NewHome returns the handler.
func NewHome(pages *Pages, c *catalog.Catalog) *Home { return &Home{pages: pages, catalog: c} }

// Page serves GET /.
func (h *Home) Page(c *fiber.Ctx) error {
	f := h.pages.frame(c, pageMeta{
		title: "One endpoint for all your MCP servers", description: "A gateway that serves the tools of many MCP servers at one URL, with a catalog of servers and templates.",
		path: "/", section: layout.SectionNone, data: h.pages.website(),
	})
	templates := h.catalog.AllTemplates()
	return render(c, f, public.Home(public.HomeProps{
		Frame: f, PublicURL: h.pages.publicURL.String(), Featured: public.Servers(h.catalog.Featured(homeServers)),
		Servers: len(h.catalog.AllEntries()), Templates: public.Templates(templates[:min(homeTemplates, len(templates))]),
	}))
}
