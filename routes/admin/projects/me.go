package projects

import (
	"cmp"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthserver"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// Me serves the page with the projects of the signed-in user. Members start there.
type Me struct {
	pages    *frame.Pages
	projects *oauthserver.Server
	public   *url.URL
}

// NewMe returns the handlers.
func NewMe(pages *frame.Pages, projects *oauthserver.Server, public *url.URL) *Me {
	return &Me{pages: pages, projects: projects, public: public}
}

// Show serves GET /me.
func (a *Me) Show(c *fiber.Ctx) error {
	person := guard.UserOf(c)
	if person == nil {
		return fault.Unauthorized()
	}
	found, err := a.projects.Projects(c.UserContext(), person.ID)
	if err != nil {
		return err
	}
	p := admin.MeProps{Frame: a.pages.Frame(c, "Your projects", layout.SectionNone)}
	for _, project := range found {
		p.Projects = append(p.Projects, admin.MyProject{
			Name: ui.Clean(cmp.Or(project.Name, project.Slug)), Endpoint: a.public.JoinPath("v1", "mcp", project.Slug, "request").String(),
		})
	}
	return web.Render(c, admin.Me(p))
}
