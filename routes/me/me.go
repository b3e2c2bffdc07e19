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

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/access/personal"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/access/rights"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthserver"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolset"
	"mcpgateway/views/install"
	"mcpgateway/views/layout"
	views "mcpgateway/views/me"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// Grants are the clients of users. Implemented by
// oauthserver.Server.
type Grants interface {
	Grants(ctx context.Context, userID string) ([]oauthserver.Grant, error)
	RevokeGrant(ctx context.Context, userID, grantID string) error
}

// Traffic counts calls. Implemented by traffic.Store.
type Traffic interface {
	Totals(ctx context.Context, f traffic.Filter, p traffic.Period) (traffic.Totals, error)
}

// Views returns what people see of a project. Implemented by views.Views.
type Views interface {
	Held(project *toolset.Snapshot, held rights.Held) *toolset.Snapshot
}

// Options are the dependencies of Me.
type Options struct {
	Pages  *admin.ProjectPages
	Own    *personal.Own
	Views  Views
	Grants Grants
	Calls  Traffic
	// CatalogRequests are the requests of users for servers of Catalog.
	CatalogRequests Requests
	Catalog         Catalog
	Seal            *secrets.KeyRing // encrypts a new key for the page that shows it
	Public          *url.URL         // origin of the endpoints
	Now             func() time.Time
}

// Me serves the pages. They require a guard that admits all signed-in users.
type Me struct{ Options }

// New returns the handlers.
func New(o Options) *Me { return &Me{o} }

// maxCounted is the number of projects whose calls are counted.
const maxCounted = 12

// Show serves GET /me, where members start.
func (m *Me) Show(c *fiber.Ctx) error {
	person := guard.UserOf(c)
	if person == nil {
		return fault.Unauthorized()
	}
	apps, err := m.apps(c, person)
	if err != nil {
		return err
	}
	p := views.ProjectsProps{Frame: m.Pages.Frame(c, "My projects", layout.SectionMe), Maintained: m.maintained(c.UserContext()), Apps: apps}
	if person.GroupsOverage {
		p.Notice = access.GroupsOverage
	}
	for i, project := range m.Own.Projects(person.ID) {
		card := m.card(project)
		if i < maxCounted {
			if card.Calls, err = m.callsOf(c.UserContext(), project.Project.ID, person.ID); err != nil {
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
	for _, p := range m.Pages.Visible(ctx) {
		if mine.Administers(&p.Project) {
			status := m.Pages.Navigation.Status(p)
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
	week, _ := traffic.Last("7d", m.Now())
	totals, err := m.Calls.Totals(ctx, traffic.Filter{ProjectID: projectID, Caller: access.Administrator(userID, projectID).ID()}, week)
	if err != nil {
		return "", err
	}
	return ui.Plural(totals.Calls, "call", "calls") + " by you this week", nil
}

// card returns a project of the user.
func (m *Me) card(project personal.Project) views.Project {
	slug := project.Project.Slug
	status := m.Pages.Navigation.Status(project.Snapshot)
	return views.Project{
		Slug: slug, Name: nameOf(project), Endpoint: m.endpoint(slug), Status: status.Status(), Tone: status.Tone,
		Tools: len(m.Views.Held(project.Snapshot, project.Held).Tools),
		OAuth: project.Project.AuthMode == models.AuthOAuth, OwnKeys: project.PersonalKeys(),
	}
}

func nameOf(project personal.Project) string {
	return cmp.Or(ui.Clean(project.Project.Name), project.Project.Slug)
}

func (m *Me) endpoint(slug string) string {
	return m.Public.JoinPath("v1", "mcp", slug, "request").String()
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
	project, err := m.Own.Project(person.ID, c.Params("projectSlug"))
	if err != nil {
		return err
	}
	snapshot, slug := m.Views.Held(project.Snapshot, project.Held), project.Project.Slug
	p := views.ProjectProps{Project: m.card(project), Description: ui.Clean(snapshot.Project.Description)}
	p.Frame = m.Pages.Frame(c, p.Name, layout.SectionMe)
	p.Crumbs = []layout.Crumb{{Label: "My projects", URL: paths.Me}, {Label: p.Name}}
	p.Snippets = m.snippets(slug, p.Project)
	for _, t := range project.Toolsets() {
		_, endpoint := install.Endpoint(m.Public, slug, []string{t.Slug})
		p.Toolsets = append(p.Toolsets, views.Toolset{Name: ui.Clean(t.Name), Endpoint: endpoint})
	}
	for _, t := range snapshot.Tools[:min(len(snapshot.Tools), maxTools)] {
		p.List = append(p.List, toolOf(t))
	}
	return web.Render(c, views.ProjectPage(p))
}

// snippets returns the snippets of all clients for a project. Where clients
// don't sign in, they have the placeholder of a key.
func (m *Me) snippets(slug string, p views.Project) []ui.SnippetTab {
	remote := install.Remote{Name: slug, URL: p.Endpoint, OAuth: p.OAuth}
	if !p.OAuth {
		remote.Key = "Bearer API_KEY"
	}
	return remote.Tabs()
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
	return web.Render(c, views.Apps(views.AppsProps{Frame: m.Pages.Frame(c, "My apps", layout.SectionApps), Apps: apps}))
}

func (m *Me) apps(c *fiber.Ctx, person *guard.User) (views.AppList, error) {
	grants, err := m.Grants.Grants(c.UserContext(), person.ID)
	if err != nil {
		return views.AppList{}, err
	}
	list := views.AppList{Now: m.Now(), CSRF: guard.MaskToken(person.CSRF)}
	for _, g := range grants {
		list.Rows = append(list.Rows, views.App{
			ID: g.ID, Name: cmp.Or(g.ClientName, g.ClientHost, "Unnamed app"), Host: g.ClientHost, RedirectName: g.RedirectName, Project: cmp.Or(g.ProjectName, g.ProjectSlug, g.View), Toolset: g.ToolsetName,
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
	if err := m.Grants.RevokeGrant(c.UserContext(), person.ID, c.Params("id")); err != nil {
		return err
	}
	return frame.Done(c, paths.MyApps, "App removed.")
}
