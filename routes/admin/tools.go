package admin

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/query"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolset"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// toolsPerPage is how many tools one page lists, and so how many are switched
// at once.
const toolsPerPage = 25

// ToolSwitch switches tools and approves their definitions. Implemented by
// projects.Store.
type ToolSwitch interface {
	SetTool(ctx context.Context, slug, name string, enabled, approved *bool) error
	Approve(ctx context.Context, slug string, seen []projects.ToolDefinition) (projects.Approvals, error)
	Unapprove(ctx context.Context, slug string, approved []projects.ToolDefinition) (projects.Approvals, error)
}

// Undoer stores the form that takes an action back, and returns its token.
// Implemented by guard.Guards.
type Undoer interface {
	KeepUndo(c *fiber.Ctx, path string, form url.Values) (token string, err error)
}

// Tools serves the tools of a project.
type Tools struct {
	pages     *Pages
	directory ProjectDirectory
	health    HealthSource
	store     ToolSwitch
	gateway   Caller
	undo      Undoer
}

// NewTools returns the handlers. gateway carries out the calls of the
// Playground.
func NewTools(pages *Pages, directory ProjectDirectory, health HealthSource, store ToolSwitch, gateway Caller, undo Undoer) *Tools {
	return &Tools{pages: pages, directory: directory, health: health, store: store, gateway: gateway, undo: undo}
}

func toolsPath(slug string) string { return projectPath(slug) + "/tools" }

func toolPath(slug, name string) string { return toolsPath(slug) + "/" + url.PathEscape(name) }

// List serves GET /admin/projects/:projectSlug/tools?query=&show=&page=.
func (a *Tools) List(c *fiber.Ctx) error {
	project, err := a.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	all := project.AllTools()
	p := admin.ToolsProps{
		Frame: a.pages.Frame(c, title(project, "Tools"), layout.SectionProjects), Project: headOf(project, a.health, layout.TabTools),
		Query: strings.TrimSpace(c.Query("query")), Total: len(all), Servers: len(project.Servers),
	}
	found, err := searched(all, p.Query)
	if err != nil {
		p.Problem = queryError(err)
		if c.Get("HX-Request") != "true" {
			c.Status(web.StatusOf(err))
		}
	}
	a.fill(&p, found, c.Query("show"), c.QueryInt("page", 1))
	return web.Render(c, admin.Tools(p))
}

// fill puts one page of what was found into the props.
func (a *Tools) fill(p *admin.ToolsProps, found []*toolset.Tool, show string, page int) {
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
			return toolsPath(p.Project.Slug)
		}
		return toolsPath(p.Project.Slug) + "?" + q.Encode()
	}
	p.Chips = append(p.Chips, ui.Chip{Label: "All", URL: address("", 1), On: show == "", Count: ui.Count(len(found))})
	for _, kind := range admin.ToolStates() {
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
	p.Waiting = len(ofState(found, admin.ToolChanged))
	p.Found, p.First, p.BackURL = len(found), from+1, address(show, page)
	for _, t := range found[from:min(from+toolsPerPage, len(found))] {
		p.Rows = append(p.Rows, toolRowOf(t))
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

// searched returns the tools that a query fits.
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

// queryError returns what is wrong with a query, for the search box.
func queryError(err error) *ui.QueryError {
	f := fault.From(err)
	problem := &ui.QueryError{Message: f.Message}
	if f.Span != nil {
		problem.Start, problem.End = f.Span.Start, f.Span.End
	}
	return problem
}

func ofState(tools []*toolset.Tool, kind string) []*toolset.Tool {
	var found []*toolset.Tool
	for _, t := range tools {
		if toolState(t).Kind == kind {
			found = append(found, t)
		}
	}
	return found
}

func toolState(t *toolset.Tool) admin.ToolState {
	switch t.Hidden {
	case toolset.Visible:
		return admin.ToolStateOf(admin.ToolEnabled)
	case toolset.HiddenByAdmin:
		return admin.ToolStateOf(admin.ToolOff)
	case toolset.HiddenByApproval:
		return admin.ToolStateOf(admin.ToolChanged)
	default:
		return admin.ToolStateOf(admin.ToolHidden)
	}
}

func toolRowOf(t *toolset.Tool) admin.ToolRow {
	row := admin.ToolRow{Name: t.FullName, Listed: t.Name, Server: t.Server.Config.Alias, State: toolState(t), LongName: admin.LongNameWords(t.Name)}
	definition, err := rawjson.ParseObject(t.Definition, rawjson.Lenient)
	if err != nil {
		return row // a sync stores valid objects only
	}
	row.Title, _ = definition.String("title")
	row.Description, _ = definition.String("description")
	row.Hidden = ui.Hidden(row.Description) || ui.Hidden(row.Title) || ui.Hidden(t.FullName)
	row.Parameters = len(definition.Object("inputSchema").Object("properties").Names())
	return row
}

// Switch serves POST /admin/projects/:projectSlug/tools/:name/enabled.
func (a *Tools) Switch(c *fiber.Ctx) error {
	name, err := url.PathUnescape(c.Params("name"))
	if err != nil {
		return fault.NotFound("tool", c.Params("name"))
	}
	enabled := posted(c, "enabled") == "true"
	if err := a.store.SetTool(c.UserContext(), c.Params("projectSlug"), name, &enabled, nil); err != nil {
		return Failed(c, a.back(c), err)
	}
	return c.Redirect(a.back(c), fiber.StatusSeeOther) // the switch itself shows the result
}

// back returns the page that a form of the list came from.
func (a *Tools) back(c *fiber.Ctx) string {
	list := toolsPath(c.Params("projectSlug"))
	to := guard.LocalPath(posted(c, "back"), list)
	if to != list && !strings.HasPrefix(to, list+"?") && !strings.HasPrefix(to, list+"/") {
		return list
	}
	return to
}

// toolOf returns the tool that the address names, hidden ones included.
func (a *Tools) toolOf(c *fiber.Ctx) (*toolset.Snapshot, *toolset.Tool, error) {
	project, err := a.directory.Project(c.Params("projectSlug"))
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
