// Package public serves the pages that require no sign-in.
package public

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/catalog"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/public"
	"mcpgateway/web/guard"
)

// Number of catalog rows on the home page.
const (
	homeServers   = 8
	homeTemplates = 4
)

// Home serves the home page.
type Home struct {
	pages    *Pages
	catalog  *catalog.Catalog
	programs func() bool
}

// NewHome returns the handler. programs reports whether local servers can run.
func NewHome(pages *Pages, c *catalog.Catalog, programs func() bool) *Home {
	return &Home{pages: pages, catalog: c, programs: programs}
}

// Page serves GET /. Signed-in users are sent to their own first page.
func (h *Home) Page(c *fiber.Ctx) error {
	if user := guard.UserOf(c); user != nil {
		to := paths.Home
		if user.Role == guard.RoleMember {
			to = paths.Me
		}
		c.Set(fiber.HeaderCacheControl, "no-store")
		return c.Redirect(to, fiber.StatusSeeOther)
	}
	f := h.pages.frame(c, pageMeta{
		title: "One endpoint for all your MCP servers", description: "Connect every MCP client once. The gateway signs in, filters, searches and records the rest.",
		path: "/", section: layout.SectionNone, data: h.pages.website(),
	})
	facets, err := h.catalog.Facets("", catalog.Filter{Programs: h.programs()})
	if err != nil {
		return err
	}
	featured, err := h.catalog.Browse(catalog.View{Text: "featured:true", Filter: catalog.Filter{Works: true}, Limit: homeServers})
	if err != nil {
		return err
	}
	templates := h.catalog.AllTemplates()
	return render(c, f, public.Home(public.HomeProps{
		Frame: f, Featured: h.pages.entries.all(featured.Rows), Servers: facets.Total, Works: facets.Works,
		Templates: public.Templates(templates[:min(homeTemplates, len(templates))]),
	}))
}
