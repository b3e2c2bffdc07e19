// Package projects serves the list of projects, and for each project the Connect,
// Keys and Settings pages. Users without access to the admin pages get a separate
// page with their projects.
package projects

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"mcpgateway/web/guard"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/activity"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// projectsPerPage is the number of projects on a page.
const projectsPerPage = 50

// Projects serves the list of projects and the form of a new one.
type Projects struct {
	pages *admin.ProjectPages
	calls *activity.Calls
	store *projects.Store
}

// New returns the handlers.
func New(pages *admin.ProjectPages, calls *activity.Calls, store *projects.Store) *Projects {
	return &Projects{pages: pages, calls: calls, store: store}
}

// List serves GET /admin. Users without access to the admin pages are redirected
// to /me.
func (p *Projects) List(c *fiber.Ctx) error {
	if person := guard.UserOf(c); person != nil && !access.Administers(models.Role(person.Role)) {
		return c.Redirect(paths.Me, fiber.StatusSeeOther)
	}
	query, after := strings.TrimSpace(c.Query("query")), c.Query("after")
	all := p.pages.Directory.All()
	found := slices.DeleteFunc(slices.Clone(all), func(s *toolset.Snapshot) bool { return !named(s, query) })
	slices.SortFunc(found, func(a, b *toolset.Snapshot) int { return cmp.Compare(a.Project.Slug, b.Project.Slug) })
	props := views.ProjectsProps{
		Frame: p.pages.Frame(c, "Projects", layout.SectionProjects), Now: time.Now(),
		Query: query, Any: len(all) > 0, Total: len(found), Later: after != "",
	}
	if err := p.fill(c.UserContext(), &props, slices.DeleteFunc(found, func(s *toolset.Snapshot) bool { return s.Project.Slug <= after })); err != nil {
		return err
	}
	return web.Render(c, views.Projects(props))
}

// fill adds the first page of rows and the URL of the next page.
func (p *Projects) fill(ctx context.Context, props *views.ProjectsProps, rest []*toolset.Snapshot) error {
	if len(rest) > projectsPerPage {
		rest = rest[:projectsPerPage]
		props.NextURL = paths.Home + "?" + url.Values{"query": {props.Query}, "after": {rest[projectsPerPage-1].Project.Slug}}.Encode()
	}
	for _, s := range rest {
		row, err := p.row(ctx, s)
		if err != nil {
			return err
		}
		props.Rows = append(props.Rows, row)
	}
	return nil
}

func named(s *toolset.Snapshot, query string) bool {
	query = strings.ToLower(query)
	return strings.Contains(strings.ToLower(s.Project.Name), query) || strings.Contains(s.Project.Slug, query)
}

func (p *Projects) row(ctx context.Context, s *toolset.Snapshot) (views.ProjectRow, error) {
	_, shared := projects.Shared(s.Project, rowsOf(s.Servers))
	row := views.ProjectRow{
		Slug: s.Project.Slug, Name: s.Project.Name, AuthMode: string(s.Project.AuthMode), Shared: shared,
		Servers: len(s.Servers), State: p.pages.Health.WorstOf(s), Tools: len(s.Tools),
	}
	last, _, err := p.calls.List(ctx, activity.CallFilter{ProjectID: s.Project.ID}, "", 1)
	if err != nil {
		return row, err
	}
	if len(last) > 0 {
		row.LastCall = &last[0].At
	}
	return row, nil
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
	return web.Render(c, views.ProjectNew(props))
}

// Create serves POST /admin/projects and redirects to the form of the first server.
func (p *Projects) Create(c *fiber.Ctx) error {
	props := views.ProjectNewProps{
		Name: strings.TrimSpace(web.FormValue(c, "name")), Slug: strings.TrimSpace(web.FormValue(c, "projectSlug")),
		Description: strings.TrimSpace(web.FormValue(c, "description")), AuthMode: web.FormValue(c, "authMode"),
	}
	slug, mode := props.Slug, models.AuthMode(props.AuthMode)
	if slug == "" {
		slug = projects.SlugOf(props.Name)
	}
	err := unnamed(props.Name)
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
