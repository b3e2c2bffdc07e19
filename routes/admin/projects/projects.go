// Package projects serves the list of projects, and for each project the Connect,
// Keys and Settings pages. Users without access to the admin pages get a separate
// page with their projects.
package projects

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/admin/live"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// Projects serves the list of projects and the form of a new one.
type Projects struct {
	pages   *admin.ProjectPages
	traffic *traffic.Store
	keys    *keys.Store
	store   *projects.Store
	public  *url.URL // origin of the endpoints
}

// New returns the handlers.
func New(pages *admin.ProjectPages, calls *traffic.Store, keys *keys.Store, store *projects.Store, public *url.URL) *Projects {
	return &Projects{pages: pages, traffic: calls, keys: keys, store: store, public: public}
}

// List serves GET /admin?query=&state=&period=&sort=&page=. Maintainers see only
// their projects. Users without access to the admin pages are redirected to /me.
func (p *Projects) List(c *fiber.Ctx) error {
	if mine := reach.Of(c.UserContext()); !mine.SeesAll() && !mine.Maintains() {
		return c.Redirect(paths.Me, fiber.StatusSeeOther)
	}
	values, err := url.ParseQuery(string(c.Context().QueryArgs().QueryString()))
	if err != nil {
		values = url.Values{}
	}
	q := listQueryOf(values)
	f := p.pages.Frame(c, "Projects", layout.SectionProjects)
	props := views.ProjectsProps{Frame: f}
	if props.ProjectList, err = p.list(c.UserContext(), q, f.Owner()); err != nil {
		return err
	}
	props.Periods, props.Query, props.Hidden = q.periods(), q.text, q.hidden()
	props.Frame.Bar = views.ProjectsBar(f.Owner(), f.Limited())
	if props.Any {
		props.Frame.Live = append(props.Frame.Live, listTopic+":"+q.encoded())
	}
	return web.Render(c, views.Projects(props))
}

// listTopic is the live topic of the list. Its argument is the query of its URL.
const listTopic = "projects"

// Topics returns the live topic of the list of projects.
func (p *Projects) Topics() []live.Topic {
	return []live.Topic{{Name: listTopic, Every: 2 * time.Second, Open: p.open}}
}

func (p *Projects) open(s live.Scope) (live.Render, error) {
	values, err := url.ParseQuery(s.Arg)
	if err != nil {
		return nil, fault.Invalid("Invalid query.")
	}
	q := listQueryOf(values)
	return func(ctx context.Context) ([]live.Part, error) {
		list, err := p.list(ctx, q, s.Reach.AdministersAll())
		if err != nil {
			return nil, err
		}
		return []live.Part{{ID: "results", Body: views.ProjectResults(list)}}, nil
	}, nil
}

// New serves GET /admin/projects/new.
func (p *Projects) New(c *fiber.Ctx) error {
	return p.form(c, views.ProjectNewProps{AuthMode: string(models.AuthAPIKey)}, nil)
}

// form renders the form. failed is the error of a rejected project, or nil.
func (p *Projects) form(c *fiber.Ctx, props views.ProjectNewProps, failed error) (err error) {
	if props.Errors, err = frame.Fields(c, failed); err != nil {
		return err
	}
	props.Frame = p.pages.Frame(c, "New project", layout.SectionProjects)
	props.Crumbs = []layout.Crumb{{Label: "Projects", URL: paths.Home}, {Label: "New project"}}
	return web.Render(c, views.ProjectNew(props))
}

// Create serves POST /admin/projects and redirects to the form of the first server.
func (p *Projects) Create(c *fiber.Ctx) error {
	props := views.ProjectNewProps{
		Name: strings.TrimSpace(web.FormValue(c, "name")), Slug: strings.TrimSpace(web.FormValue(c, "projectSlug")),
		Description: strings.TrimSpace(web.FormValue(c, "description")), AuthMode: web.FormValue(c, "authMode"),
	}
	slug, mode := "", models.AuthMode(props.AuthMode)
	err := unnamed(props.Name)
	if err == nil {
		slug, err = projects.SlugFor("projectSlug", props.Slug, props.Name)
	}
	if err == nil {
		_, err = p.store.CreateProject(c.UserContext(), slug, &declaration.Project{Name: &props.Name, Description: &props.Description, AuthMode: &mode})
	}
	if err != nil {
		return p.form(c, props, err)
	}
	return frame.Done(c, paths.NewServer(slug), "Project created. Add its first server.")
}

// unnamed returns a validation error for an empty name.
func unnamed(name string) error {
	if name == "" {
		return fault.Validation(map[string]string{"name": "enter a name"})
	}
	return nil
}
