// Package admin holds the code that the packages below it share: the frame and
// heading of project pages, the states of servers and tools, and the filter chips
// of lists. The handlers of the admin pages are in those packages.
package admin

import (
	"cmp"
	"context"
	"net/url"
	"slices"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/toolset"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

// ProjectPages holds the dependencies of the project pages.
type ProjectPages struct {
	*frame.Pages
	Directory  *toolset.Directory
	Health     *Health
	Navigation *Navigation
	// OlderReplicas reports whether a replica ignores settings of this version.
	// Implemented by services.Services.
	OlderReplicas func(ctx context.Context) (bool, error)
}

// WarnOlder adds a banner to a page with settings that older replicas ignore, such
// as "Limits", if there is such a replica.
func (a *ProjectPages) WarnOlder(c *fiber.Ctx, f *layout.Frame, what string) error {
	found, err := a.OlderReplicas(c.UserContext())
	if err == nil && found {
		f.Banners = append(f.Banners, layout.Banner{Tone: "warn", Text: notify.OlderReplicasWarning(what).Message})
	}
	return err
}

// Visible returns the projects that the user of a request may see.
func (a *ProjectPages) Visible(ctx context.Context) []*toolset.Snapshot {
	return reach.Of(ctx).Visible(a.Directory.All())
}

// Project returns the project that the URL names.
func (a *ProjectPages) Project(c *fiber.Ctx) (*toolset.Snapshot, error) {
	return a.Directory.Project(c.Params("projectSlug"))
}

// Server returns the server that the URL names, and its project.
func (a *ProjectPages) Server(c *fiber.Ctx) (*toolset.Snapshot, *toolset.Server, error) {
	p, err := a.Project(c)
	if err != nil {
		return nil, nil, err
	}
	server, err := ServerOf(p, c.Params("id"))
	return p, server, err
}

// Tool returns the tool that the URL names, hidden ones included, and its
// project.
func (a *ProjectPages) Tool(c *fiber.Ctx) (*toolset.Snapshot, *toolset.Tool, error) {
	project, err := a.Project(c)
	if err != nil {
		return nil, nil, err
	}
	name, err := url.PathUnescape(c.Params("name"))
	if err == nil {
		all := project.AllTools()
		if i := slices.IndexFunc(all, func(t *toolset.Tool) bool { return t.FullName == name || t.Name == name }); i >= 0 {
			return project, all[i], nil
		}
	}
	return nil, nil, fault.NotFound("tool", c.Params("name"))
}

// ProjectFrame returns the frame of a page of a project. The page is the tab, or
// the last crumb below it.
func (a *ProjectPages) ProjectFrame(c *fiber.Ctx, p *toolset.Snapshot, tab layout.ProjectTab, title string, crumbs ...layout.Crumb) layout.Frame {
	name := ui.Clean(cmp.Or(p.Project.Name, p.Project.Slug))
	f := a.Frame(c, name+": "+title, layout.SectionProjects)
	f.Tab = tab
	mine := reach.Of(c.UserContext())
	f.Nav = a.Navigation.Of(mine, p.Project.Slug)
	f.Controls = mine.Administers(&p.Project)
	a.Navigation.remember(c, p.Project.Slug)
	f.Crumbs = append([]layout.Crumb{{Label: "Projects", URL: paths.Home}, {Label: name, URL: paths.Project(p.Project.Slug)}, {Label: tab.Label(), URL: tab.URL(p.Project.Slug)}}, crumbs...)
	return f
}

// Head returns the project of a page.
func (a *ProjectPages) Head(p *toolset.Snapshot, tab layout.ProjectTab) layout.Project {
	return layout.Project{Slug: p.Project.Slug, Name: ui.Clean(p.Project.Name), Tab: tab, AuthMode: string(p.Project.AuthMode)}
}

// ServerOf returns the server of a project, or NOT_FOUND.
func ServerOf(p *toolset.Snapshot, id string) (*toolset.Server, error) {
	for _, s := range p.Servers {
		if s.Config.ID == id {
			return s, nil
		}
	}
	return nil, fault.NotFound("server", id)
}

// CountTools returns the number of a server's tools that clients see, and the
// number of all its tools.
func CountTools(p *toolset.Snapshot, serverID string) (shown, known int) {
	for _, t := range p.AllTools() {
		if t.Server.Config.ID != serverID {
			continue
		}
		known++
		if t.Hidden == toolset.Visible {
			shown++
		}
	}
	return shown, known
}
