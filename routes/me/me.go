// Package me serves the pages of the signed-in user: their projects and the
// clients that they signed in.
package me

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthserver"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/views/install"
	"mcpgateway/views/layout"
	views "mcpgateway/views/me"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// Grants are the projects and clients of users. Implemented by
// oauthserver.Server.
type Grants interface {
	Projects(ctx context.Context, userID string) ([]oauthserver.Project, error)
	Grants(ctx context.Context, userID string) ([]oauthserver.Grant, error)
	RevokeGrant(ctx context.Context, userID, grantID string) error
}

// Traffic counts calls. Implemented by traffic.Store.
type Traffic interface {
	Totals(ctx context.Context, f traffic.Filter, p traffic.Period) (traffic.Totals, error)
}

// Me serves the pages. They require a guard that admits all signed-in users.
type Me struct {
	pages  *admin.ProjectPages
	grants Grants
	calls  Traffic
	public *url.URL
	now    func() time.Time
}

// New returns the handlers. public is the origin of the endpoints.
func New(pages *admin.ProjectPages, grants Grants, calls Traffic, public *url.URL, now func() time.Time) *Me {
	return &Me{pages: pages, grants: grants, calls: calls, public: public, now: now}
}

// maxCounted is the number of projects whose calls are counted.
const maxCounted = 12

// Show serves GET /me, where members start.
func (m *Me) Show(c *fiber.Ctx) error {
	person := guard.UserOf(c)
	if person == nil {
		return fault.Unauthorized()
	}
	found, err := m.grants.Projects(c.UserContext(), person.ID)
	if err != nil {
		return err
	}
	apps, err := m.apps(c, person)
	if err != nil {
		return err
	}
	p := views.ProjectsProps{Frame: m.pages.Frame(c, "My projects", layout.SectionMe), Maintained: m.maintained(c.UserContext()), Apps: apps}
	if person.GroupsOverage {
		p.Notice = access.GroupsOverage
	}
	for i, project := range found {
		card := m.card(project)
		if i < maxCounted {
			if card.Calls, err = m.callsOf(c.UserContext(), project.ID, person.ID); err != nil {
				return err
			}
		}
		p.Projects = append(p.Projects, card)
	}
	return web.Render(c, views.Projects(p))
}

// maintained returns the projects that the user maintains by a grant, by name.
// Administrators have the administration instead.
func (m *Me) maintained(ctx context.Context) []views.Maintained {
	mine := reach.Of(ctx)
	if mine.AdministersAll() || !mine.Maintains() {
		return nil
	}
	var all []views.Maintained
	for _, p := range m.pages.Visible(ctx) {
		if mine.Administers(&p.Project) {
			status := m.pages.Navigation.Status(p)
			all = append(all, views.Maintained{Slug: p.Project.Slug, Name: cmp.Or(ui.Clean(p.Project.Name), p.Project.Slug), Status: status.Status(), Tone: status.Tone})
		}
	}
	slices.SortFunc(all, func(a, b views.Maintained) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Slug, b.Slug))
	})
	return all
}

// callsOf returns the number of the user's calls in the last 7 days, in words.
func (m *Me) callsOf(ctx context.Context, projectID, userID string) (string, error) {
	week, _ := traffic.Last("7d", m.now())
	totals, err := m.calls.Totals(ctx, traffic.Filter{ProjectID: projectID, Caller: access.Administrator(userID, projectID).ID()}, week)
	if err != nil {
		return "", err
	}
	return ui.Plural(totals.Calls, "call", "calls") + " by you this week", nil
}

// card returns a project of the user.
func (m *Me) card(project oauthserver.Project) views.Project {
	card := views.Project{Slug: project.Slug, Name: cmp.Or(ui.Clean(project.Name), project.Slug), Endpoint: m.endpoint(project.Slug)}
	if snapshot, err := m.pages.Directory.Project(project.Slug); err == nil {
		status := m.pages.Navigation.Status(snapshot)
		card.Status, card.Tone, card.Tools = status.Status(), status.Tone, len(snapshot.Tools)
	}
	return card
}

func (m *Me) endpoint(slug string) string {
	return m.public.JoinPath("v1", "mcp", slug, "request").String()
}

// maxTools is the number of tools on the page of a project.
const maxTools = 500

// Project serves GET /me/projects/:projectSlug: how the user's clients connect to
// a project that admits the user, and its tools. For other projects it returns
// NOT_FOUND.
func (m *Me) Project(c *fiber.Ctx) error {
	person := guard.UserOf(c)
	if person == nil {
		return fault.Unauthorized()
	}
	found, err := m.grants.Projects(c.UserContext(), person.ID)
	if err != nil {
		return err
	}
	slug := c.Params("projectSlug")
	i := slices.IndexFunc(found, func(p oauthserver.Project) bool { return p.Slug == slug })
	if i < 0 {
		return fault.NotFound("project", slug)
	}
	snapshot, err := m.pages.Directory.Project(slug)
	if err != nil {
		return err
	}
	p := views.ProjectProps{Project: m.card(found[i]), Description: ui.Clean(snapshot.Project.Description)}
	p.Frame = m.pages.Frame(c, p.Name, layout.SectionMe)
	p.Crumbs = []layout.Crumb{{Label: "My projects", URL: paths.Me}, {Label: p.Name}}
	p.Snippets = install.Remote{Name: slug, URL: p.Endpoint, OAuth: true}.Tabs()
	for _, t := range snapshot.Tools[:min(len(snapshot.Tools), maxTools)] {
		p.List = append(p.List, toolOf(t))
	}
	return web.Render(c, views.ProjectPage(p))
}

// toolOf returns a tool as clients see it.
func toolOf(t *toolset.Tool) views.Tool {
	row := views.Tool{Name: t.Name}
	definition, err := rawjson.ParseObject(t.Definition, rawjson.Lenient)
	if err != nil {
		return row // a sync stores valid objects only
	}
	row.Description, _ = definition.String("description")
	hints := definition.Object("annotations")
	row.ReadOnly = string(hints.Get("readOnlyHint")) == "true"
	row.Destructive = string(hints.Get("destructiveHint")) == "true"
	return row
}

// Apps serves GET /me/apps: the clients that the user signed in.
func (m *Me) Apps(c *fiber.Ctx) error {
	person := guard.UserOf(c)
	if person == nil {
		return fault.Unauthorized()
	}
	apps, err := m.apps(c, person)
	if err != nil {
		return err
	}
	return web.Render(c, views.Apps(views.AppsProps{Frame: m.pages.Frame(c, "My apps", layout.SectionApps), Apps: apps}))
}

func (m *Me) apps(c *fiber.Ctx, person *guard.User) (views.AppList, error) {
	grants, err := m.grants.Grants(c.UserContext(), person.ID)
	if err != nil {
		return views.AppList{}, err
	}
	list := views.AppList{Now: m.now(), CSRF: guard.MaskToken(person.CSRF)}
	for _, g := range grants {
		list.Rows = append(list.Rows, views.App{
			ID: g.ID, Name: cmp.Or(g.ClientName, g.ClientHost, "Unnamed app"), Host: g.ClientHost, RedirectName: g.RedirectName, Project: cmp.Or(g.ProjectName, g.ProjectSlug), Toolset: g.ToolsetName,
			Calls: slices.Contains(g.Scopes, "mcp:call"), CreatedAt: g.CreatedAt, LastUsedAt: g.LastUsedAt, ExpiresAt: g.ExpiresAt,
		})
	}
	return list, nil
}

// RemoveApp serves POST /me/apps/:id/revoke.
func (m *Me) RemoveApp(c *fiber.Ctx) error {
	person := guard.UserOf(c)
	if person == nil {
		return fault.Unauthorized()
	}
	if err := m.grants.RevokeGrant(c.UserContext(), person.ID, c.Params("id")); err != nil {
		return err
	}
	return frame.Done(c, paths.MyApps, "App removed.")
}
