package admin

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// projectsPerPage is how many projects one page lists.
const projectsPerPage = 50

// ProjectCreator creates projects; projects.Store says how.
type ProjectCreator interface {
	CreateProject(ctx context.Context, slug string, d *projects.ProjectDeclaration) (projects.SavedProject, error)
}

// CallLog tells of calls; activity.Calls says how.
type CallLog interface {
	List(ctx context.Context, f activity.CallFilter, before string, limit int) (calls []models.Call, next string, err error)
	Stats(ctx context.Context, f activity.CallFilter, steps int) (*activity.CallStats, error)
}

// Projects serves the list of projects and the form of a new one.
type Projects struct {
	pages     *Pages
	directory ProjectDirectory
	health    HealthSource
	calls     CallLog
	store     ProjectCreator
}

// NewProjects returns the handlers.
func NewProjects(pages *Pages, directory ProjectDirectory, health HealthSource, calls CallLog, store ProjectCreator) *Projects {
	return &Projects{pages: pages, directory: directory, health: health, calls: calls, store: store}
}

// List serves GET /admin. Users who may not read the administration are sent
// to their own page.
func (p *Projects) List(c *fiber.Ctx) error {
	if person := guard.PersonOf(c); person != nil && !access.Administers(models.Role(person.Role)) {
		return c.Redirect(mePath, fiber.StatusSeeOther)
	}
	query, after := strings.TrimSpace(c.Query("query")), c.Query("after")
	all := p.directory.All()
	found := slices.DeleteFunc(slices.Clone(all), func(s *toolset.Snapshot) bool { return !named(s, query) })
	slices.SortFunc(found, func(a, b *toolset.Snapshot) int { return cmp.Compare(a.Project.Slug, b.Project.Slug) })
	props := views.ProjectsProps{
		Frame: p.pages.Frame(c, "Projects", layout.SectionProjects), Now: time.Now(),
		Query: query, Any: len(all) > 0, Total: len(found), Later: after != "",
	}
	rest := slices.DeleteFunc(found, func(s *toolset.Snapshot) bool { return s.Project.Slug <= after })
	if len(rest) > projectsPerPage {
		rest = rest[:projectsPerPage]
		props.NextURL = homePath + "?" + url.Values{"query": {query}, "after": {rest[projectsPerPage-1].Project.Slug}}.Encode()
	}
	for _, s := range rest {
		row, err := p.row(c.UserContext(), s)
		if err != nil {
			return err
		}
		props.Rows = append(props.Rows, row)
	}
	return web.Render(c, views.Projects(props))
}

func named(s *toolset.Snapshot, query string) bool {
	query = strings.ToLower(query)
	return strings.Contains(strings.ToLower(s.Project.Name), query) || strings.Contains(s.Project.Slug, query)
}

func (p *Projects) row(ctx context.Context, s *toolset.Snapshot) (views.ProjectRow, error) {
	_, shared := projects.Shared(s.Project, rowsOf(s.Servers))
	row := views.ProjectRow{
		Slug: s.Project.Slug, Name: s.Project.Name, AuthMode: string(s.Project.AuthMode), Shared: shared,
		Servers: len(s.Servers), State: worstOf(s, p.health), Tools: len(s.Tools),
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
	return p.form(c, views.ProjectNewProps{AuthMode: string(models.AuthAPIKey)})
}

func (p *Projects) form(c *fiber.Ctx, props views.ProjectNewProps) error {
	props.Frame = p.pages.Frame(c, "New project", layout.SectionProjects)
	return web.Render(c, views.ProjectNew(props))
}

// Create serves POST /admin/projects and leads to the first server.
func (p *Projects) Create(c *fiber.Ctx) error {
	props := views.ProjectNewProps{
		Name: strings.TrimSpace(posted(c, "name")), Slug: strings.TrimSpace(posted(c, "projectSlug")),
		Description: strings.TrimSpace(posted(c, "description")), AuthMode: posted(c, "authMode"),
	}
	slug, mode := props.Slug, models.AuthMode(props.AuthMode)
	if slug == "" {
		slug = slugOf(props.Name)
	}
	err := unnamed(props.Name)
	if err == nil {
		_, err = p.store.CreateProject(c.UserContext(), slug, &projects.ProjectDeclaration{Name: &props.Name, Description: &props.Description, AuthMode: &mode})
	}
	if err != nil {
		fields, ok := Fields(c, err)
		if !ok {
			return err
		}
		props.Errors = fields
		return p.form(c, props)
	}
	return Done(c, serversPath(slug)+"/new", "The project is there. Now add its first server.")
}

// unnamed returns what is wrong with an empty name.
func unnamed(name string) error {
	if name == "" {
		return fault.Validation(map[string]string{"name": "give the project a name"})
	}
	return nil
}

// slugOf returns the slug that follows from a name, or "" when none does.
func slugOf(name string) string { return strings.Trim(cut(plain(name), 64), "-") }

// plain returns a name in lower case with hyphens for everything that is no
// letter or digit of ASCII.
func plain(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}

// cut returns at most so many bytes of a text in ASCII.
func cut(s string, most int) string { return s[:min(len(s), most)] }
