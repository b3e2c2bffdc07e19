package tools

import (
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/toolsearch/literal"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/tools"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// toolsPerPage is the number of tools on a page of the flat list, or of the list of
// one server.
const toolsPerPage = 50

// unusedDays is the number of days after which a tool without calls is unused.
const unusedDays = int(traffic.UsePeriod / (24 * time.Hour))

// The row height is kept in a cookie.
const (
	densityCookie = "density"
	densityAge    = 365 * 24 * time.Hour
)

// List serves GET /admin/projects/:projectSlug/tools. Its parameters are those of
// filters, and density, which changes the row height.
func (a *Tools) List(c *fiber.Ctx) error {
	project, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	q, err := url.ParseQuery(string(c.Context().QueryArgs().QueryString()))
	if err != nil {
		q = url.Values{}
	}
	f := readFilters(q)
	if density := q.Get("density"); density != "" {
		putDensity(c, density)
		return c.Redirect(f.url(project.Project.Slug), fiber.StatusSeeOther)
	}
	used, err := a.usage.ToolUse(c.UserContext(), project.Project.ID)
	if err != nil {
		return err
	}
	l := &list{filters: f, project: project, uses: used}
	p := views.ListProps{
		Frame: a.pages.ProjectFrame(c, project, layout.TabTools, "Tools"), Slug: project.Project.Slug, Now: a.now(),
		Counts: counted(project.AllTools()), Servers: len(project.Servers), UnusedDays: unusedDays, Query: f.query, Back: f.url(project.Project.Slug),
	}
	if l.found, err = searched(project.AllTools(), f.query); err != nil {
		p.Problem = frame.QueryError(err)
		if c.Get("HX-Request") != "true" {
			c.Status(web.StatusOf(err))
		}
	}
	p.Density.Cosy = c.Cookies(densityCookie) == "cosy"
	a.fill(&p, l)
	return web.Render(c, views.List(p))
}

func putDensity(c *fiber.Ctx, density string) {
	if density != "cosy" {
		density = "compact"
	}
	c.Cookie(&fiber.Cookie{
		Name: densityCookie, Value: density, Path: paths.Home, Expires: time.Now().Add(densityAge),
		HTTPOnly: true, Secure: c.Protocol() == "https", SameSite: fiber.CookieSameSiteLaxMode,
	})
}

// list is the list of tools with its filters.
type list struct {
	filters
	project *toolset.Snapshot
	uses    uses
	found   []*toolset.Tool // by the query
	most    int             // calls of the most called tool
}

func (l *list) slug() string { return l.project.Project.Slug }

// fill adds the chips, the groups and the pager.
func (a *Tools) fill(p *views.ListProps, l *list) {
	for _, t := range l.project.AllTools() {
		l.most = max(l.most, l.uses.of(t).Calls)
	}
	tools := matching(l.found, l.filters, l.uses)
	p.Matches, p.Seen = len(tools), seenOf(tools)
	p.Chips, p.ByServer = l.stateChips(), l.serverChips()
	p.Columns = l.columns()
	p.Views = []ui.SegmentItem{
		{Label: "By server", Icon: "server", URL: l.with(func(f *filters) { f.flat = false }).url(l.slug()), Current: !l.flat},
		{Label: "Flat", Icon: "list", URL: l.with(func(f *filters) { f.flat = true }).url(l.slug()), Current: l.flat},
	}
	next := "cosy"
	if p.Density.Cosy {
		next = "compact"
	}
	q := l.values()
	q.Set("density", next)
	p.Density.URL = paths.Tools(l.slug()) + "?" + q.Encode()
	kept := l.with(func(f *filters) { f.query = "" }).values()
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		for _, value := range kept[name] {
			p.Kept = append(p.Kept, ui.Pair{Name: name, Value: value})
		}
	}
	p.Grouped = !l.flat
	a.addGroups(p, l, tools)
	if l.query == "" && l.show == "" && l.server == "" && p.Pages.Page == p.Pages.Last {
		p.Builtins = a.builtinRows(l)
	}
}

// counted returns the numbers of tools by state.
func counted(tools []*toolset.Tool) (n views.Counts) {
	n.All = len(tools)
	for _, t := range tools {
		switch literal.StateOf(t) {
		case "on":
			n.On++
		case "approve":
			n.Approve++
		default:
			n.Off++
		}
	}
	return n
}

// stateChips returns the filters by state, with the number of tools of the chosen
// server. States without tools are omitted.
func (l *list) stateChips() []ui.Chip {
	var chips []ui.Chip
	for _, state := range [][2]string{{"", "All"}, {"approve", "To approve"}, {"on", "On"}, {"off", "Off"}, {showUnused, "Unused " + ui.Count(unusedDays) + " d"}} {
		f := l.with(func(f *filters) { f.show = state[0] })
		n := len(matching(l.found, f, l.uses))
		if n > 0 || state[0] == "" || l.show == state[0] {
			chips = append(chips, ui.Chip{Label: state[1], Count: ui.Count(n), On: l.show == state[0], URL: f.url(l.slug())})
		}
	}
	return chips
}

// serverChips returns the filters by server, most tools first. The chip of the
// chosen server clears the filter.
func (l *list) serverChips() []ui.Chip {
	all := l.with(func(f *filters) { f.server = "" })
	var chips []ui.Chip
	for _, g := range groupsOf(matching(l.found, all, l.uses)) {
		f := l.with(func(f *filters) {
			if f.server == g.alias {
				f.server = ""
			} else {
				f.server = g.alias
			}
		})
		chips = append(chips, ui.Chip{Label: g.alias, Count: ui.Count(len(g.tools)), On: l.server == g.alias, URL: f.url(l.slug())})
	}
	return chips
}

// columns returns the headings of the table.
func (l *list) columns() []ui.Column {
	column := func(label, sort string) ui.Column {
		c := ui.Column{Label: label, SortURL: l.sortedBy(sort).url(l.slug())}
		if l.sort == sort {
			c.Sorted = "ascending"
			if l.descending() {
				c.Sorted = "descending"
			}
		}
		return c
	}
	calls := column("Calls, 7 d", sortCalls)
	calls.Num, calls.Span, calls.Class = true, 2, "desk"
	used := column("Last used", sortUsed)
	used.Class = "desk"
	return []ui.Column{column("Tool", sortName), {Label: "Description", Class: "desk"}, column("Access", sortAccess), calls, used, column("State", sortState)}
}
