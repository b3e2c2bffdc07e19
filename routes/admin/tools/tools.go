// Package tools serves the list of a project's tools. Administrators turn them on
// and off, and approve new and changed definitions.
package tools

import (
	"net/url"
	"strconv"
	"strings"

	"mcpgateway/web/guard"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/query"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// toolsPerPage is the number of tools on a page, and so the maximum number of tools
// in one bulk action.
const toolsPerPage = 25

// Tools serves the tools of a project.
type Tools struct {
	pages *admin.ProjectPages
	store *projects.Store
	undo  *guard.Guards
}

// New returns the handlers.
func New(pages *admin.ProjectPages, store *projects.Store, undo *guard.Guards) *Tools {
	return &Tools{pages: pages, store: store, undo: undo}
}

// List serves GET /admin/projects/:projectSlug/tools?query=&show=&page=.
func (a *Tools) List(c *fiber.Ctx) error {
	project, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	all := project.AllTools()
	p := views.ToolsProps{
		Frame: a.pages.ProjectFrame(c, project, layout.TabTools, "Tools"), Project: a.pages.Head(project, layout.TabTools),
		Query: strings.TrimSpace(c.Query("query")), Total: len(all), Servers: len(project.Servers),
	}
	found, err := searched(all, p.Query)
	if err != nil {
		p.Problem = frame.QueryError(err)
		if c.Get("HX-Request") != "true" {
			c.Status(web.StatusOf(err))
		}
	}
	a.fill(&p, found, c.Query("show"), c.QueryInt("page", 1))
	return web.Render(c, views.Tools(p))
}

// fill adds one page of matching tools, the chips and the pager.
func (a *Tools) fill(p *views.ToolsProps, found []*toolset.Tool, show string, page int) {
	address := func(show string, page int) string {
		q := url.Values{}
		for name, value := range map[string]string{"query": p.Query, "show": show} {
			if value != "" {
				q.Set(name, value)
			}
		}
		if page > 1 {
			q.Set("page", strconv.Itoa(page))
		}
		if len(q) == 0 {
			return paths.Tools(p.Project.Slug)
		}
		return paths.Tools(p.Project.Slug) + "?" + q.Encode()
	}
	p.Chips = append(p.Chips, ui.Chip{Label: "All", URL: address("", 1), On: show == "", Count: ui.Count(len(found))})
	for _, kind := range views.ToolStates() {
		n := len(ofState(found, kind[0]))
		if n > 0 || show == kind[0] {
			p.Chips = append(p.Chips, ui.Chip{Label: kind[1], URL: address(kind[0], 1), On: show == kind[0], Count: ui.Count(n)})
		}
	}
	if show != "" {
		found = ofState(found, show)
	}
	pages := max((len(found)+toolsPerPage-1)/toolsPerPage, 1)
	page = min(max(page, 1), pages)
	from := (page - 1) * toolsPerPage
	p.Waiting = len(ofState(found, views.ToolChanged))
	p.Found, p.First, p.BackURL = len(found), from+1, address(show, page)
	for _, t := range found[from:min(from+toolsPerPage, len(found))] {
		p.Rows = append(p.Rows, admin.ToolRow(t))
	}
	p.Pager = ui.PagerProps{Shown: ui.Plural(len(found), "tool", "tools")}
	if pages > 1 {
		p.Pager.Shown = ui.Count(from+1) + " to " + ui.Count(from+len(p.Rows)) + " of " + p.Pager.Shown
	}
	if page > 1 {
		p.Pager.FirstURL, p.Pager.PreviousURL = address(show, 1), address(show, page-1)
	}
	if page < pages {
		p.Pager.NextURL = address(show, page+1)
	}
}

// searched returns the tools that match a query.
func searched(all []*toolset.Tool, text string) ([]*toolset.Tool, error) {
	if text == "" {
		return all, nil
	}
	q, err := query.Tools().Parse(text)
	if err != nil {
		return nil, err
	}
	return toolsearch.Filter(all, q), nil
}

func ofState(tools []*toolset.Tool, kind string) []*toolset.Tool {
	var found []*toolset.Tool
	for _, t := range tools {
		if admin.ToolState(t).Kind == kind {
			found = append(found, t)
		}
	}
	return found
}

// Switch serves POST /admin/projects/:projectSlug/tools/:name/enabled.
func (a *Tools) Switch(c *fiber.Ctx) error {
	name, err := url.PathUnescape(c.Params("name"))
	if err != nil {
		return fault.NotFound("tool", c.Params("name"))
	}
	enabled := web.FormValue(c, "enabled") == "true"
	if err := a.store.SetTool(c.UserContext(), c.Params("projectSlug"), name, &enabled, nil); err != nil {
		return frame.Failed(c, a.back(c), err)
	}
	return c.Redirect(a.back(c), fiber.StatusSeeOther) // the switch itself shows the result
}

// back returns the posted return path if it is below the list of tools, else the
// list.
func (a *Tools) back(c *fiber.Ctx) string {
	list := paths.Tools(c.Params("projectSlug"))
	to := guard.LocalPath(web.FormValue(c, "back"), list)
	if to != list && !strings.HasPrefix(to, list+"?") && !strings.HasPrefix(to, list+"/") {
		return list
	}
	return to
}
