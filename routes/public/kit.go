package public

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/views/kit"
	"mcpgateway/views/layout"
	"mcpgateway/web"
)

// Kit serves a page with every component of the pages. It shows no data of the
// gateway.
type Kit struct{ props kit.Props }

// NewKit returns the handler.
func NewKit(assets layout.Assets) *Kit {
	return &Kit{props: kit.Props{Frame: layout.Frame{
		Assets: assets, Title: "Kit", Description: "Every component in every state.", Section: layout.SectionProjects,
		Person: &layout.Person{Name: "Ada Example", Email: "ada@example.com", Role: layout.RoleAdmin, CSRF: "token"},
		Banners: []layout.Banner{
			{Tone: "warn", Text: "The connection to notion needs to be renewed.", LinkLabel: "Reconnect", LinkURL: "/kit"},
		},
		Flash: &layout.Flash{Tone: "ok", Text: "Settings saved."},
		Head:  layout.JSONLD(map[string]string{"@context": "https://schema.org", "@type": "WebPage", "name": "Kit </script>"}),
	}}}
}

// Page serves GET /kit.
func (k *Kit) Page(c *fiber.Ctx) error { return web.Render(c, kit.Page(k.props)) }
