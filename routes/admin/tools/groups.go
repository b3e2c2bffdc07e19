package tools

import (
	"cmp"
	"slices"

	"mcpgateway/routes/admin"
	"mcpgateway/services/projects/toolstate"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/tools"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

// Limits of the list by server.
const (
	rowsPerGroup  = 5  // of a group; the others are on the page of the server
	groupsPerPage = 20 // with several servers
)

// group is the tools of a server.
type group struct {
	alias string
	tools []*toolset.Tool
}

// groupsOf returns the tools by server, most tools first.
func groupsOf(tools []*toolset.Tool) []group {
	var groups []group
	at := map[string]int{}
	for _, t := range tools {
		alias := t.Server.Config.Alias
		i, ok := at[alias]
		if !ok {
			i = len(groups)
			at[alias] = i
			groups = append(groups, group{alias: alias})
		}
		groups[i].tools = append(groups[i].tools, t)
	}
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(len(b.tools), len(a.tools)) })
	return groups
}

// orderGroups sorts groups: those with tools to approve first, then by alias if
// the list is sorted by name, otherwise by calls.
func (l *list) orderGroups(groups []group) {
	calls := func(g group) (n int) {
		for _, t := range g.tools {
			n += l.uses.of(t).Calls
		}
		return n
	}
	waits := func(g group) int {
		if counted(g.tools).Approve > 0 {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(groups, func(a, b group) int {
		if l.sort == sortName {
			order := cmp.Compare(a.alias, b.alias)
			if l.descending() {
				order = -order
			}
			return order
		}
		return cmp.Or(cmp.Compare(waits(a), waits(b)), cmp.Compare(calls(b), calls(a)), cmp.Compare(a.alias, b.alias))
	})
}

// addGroups adds the rows. With one server, or in the flat view, the pages have a
// number of tools; otherwise a number of servers with their first tools.
func (a *Tools) addGroups(p *views.ListProps, l *list, tools []*toolset.Tool) {
	groups := groupsOf(tools)
	if l.flat {
		groups = []group{{tools: tools}}
	}
	l.orderGroups(groups)
	for _, g := range groups {
		sortTools(g.tools, l.filters, l.uses)
	}
	if len(groups) <= 1 {
		from, to := a.paged(p, l, len(tools), toolsPerPage)
		p.Pages.Shown = ui.Count(from+1) + "–" + ui.Count(to) + " of " + ui.Plural(len(tools), "tool", "tools")
		for _, g := range groups {
			p.Groups = append(p.Groups, a.groupOf(l, g, from, to))
		}
		return
	}
	from, to := a.paged(p, l, len(groups), groupsPerPage)
	p.Pages.Shown = ui.Plural(len(tools), "tool", "tools") + " of " + ui.Count(len(groups)) + " servers"
	if p.Pages.Last > 1 {
		p.Pages.Shown += ", servers " + ui.Count(from+1) + "–" + ui.Count(to)
	}
	for _, g := range groups[from:to] {
		if l.sort == sortCalls { // the first rows show what needs a decision
			slices.SortStableFunc(g.tools, func(a, b *toolset.Tool) int { return cmp.Compare(undecided(a), undecided(b)) })
		}
		rows := rowsPerGroup
		if len(g.tools) <= rowsPerGroup+2 {
			rows = len(g.tools)
		}
		p.Groups = append(p.Groups, a.groupOf(l, g, 0, rows))
	}
}

// undecided returns 0 for a tool to approve, otherwise 1.
func undecided(t *toolset.Tool) int {
	if t.Hidden == toolset.HiddenByApproval {
		return 0
	}
	return 1
}

// paged returns the bounds of the current page of n items, and sets the pager.
func (a *Tools) paged(p *views.ListProps, l *list, n, size int) (from, to int) {
	last := max((n+size-1)/size, 1)
	page := min(l.page, last)
	p.Pages = ui.PagesProps{Page: page, Last: last, URL: func(page int) string {
		f := l.filters
		f.page = page
		return f.url(l.slug())
	}}
	return (page - 1) * size, min(page*size, n)
}

// groupOf returns the rows of a group from one position to another.
func (a *Tools) groupOf(l *list, g group, from, to int) views.Group {
	out := views.Group{Alias: g.alias, Count: len(g.tools)}
	for _, t := range g.tools[from:to] {
		out.Rows = append(out.Rows, l.row(t))
	}
	if g.alias == "" {
		return out
	}
	server := l.project.Server(g.alias)
	out.ServerURL = paths.Server(l.slug(), server.Config.ID)
	if server.IsGateway {
		out.ServerURL = paths.Recipes(l.slug())
	}
	out.Closed = slices.Contains(l.closed, g.alias)
	toggled := l.with(func(f *filters) {
		if out.Closed {
			f.closed = slices.DeleteFunc(f.closed, func(alias string) bool { return alias == g.alias })
		} else {
			f.closed = append(f.closed, g.alias)
		}
	})
	toggled.page = l.page
	out.ToggleURL = toggled.url(l.slug())
	if from == 0 && to < min(len(g.tools), toolsPerPage) {
		out.More = len(g.tools) - to
		out.MoreURL = l.with(func(f *filters) { f.server, f.closed = g.alias, nil }).url(l.slug())
	}
	a.describe(&out, server, g)
	return out
}

// describe adds the note, the state of the server and the action of a group.
func (a *Tools) describe(out *views.Group, server *toolset.Server, g group) {
	n := counted(g.tools)
	out.Note = ui.Plural(n.All, "tool", "tools")
	state, _ := a.pages.Health.StateOf(server)
	switch {
	case state.Tone == ui.Bad:
		out.Note += " · server down, from the last sync"
	case n.Approve > 0:
		out.Note += " · " + ui.Count(n.Approve) + " waiting for approval"
	default:
		out.Note += " · " + ui.Count(n.On) + " on"
	}
	if state.Tone == ui.Bad || state.Tone == ui.Warn {
		out.State = ui.Badge(state.Tone, state.Word)
	}
	switches := 0
	for _, t := range g.tools {
		if t.Hidden == toolset.HiddenByAdmin {
			switches++
		}
	}
	switch {
	case n.Approve > 0:
		out.Action = &views.GroupAction{Label: approveAll(n.Approve), Icon: "check", Value: "approve " + g.alias}
	case n.On > 0:
		out.Action = &views.GroupAction{Label: "Turn all off", Value: "off " + g.alias, Quiet: true}
	case switches > 0:
		out.Action = &views.GroupAction{Label: "Turn all on", Value: "on " + g.alias, Quiet: true}
	}
}

// approveAll returns the label of the approval of n tools.
func approveAll(n int) string {
	if n == 1 {
		return "Approve 1"
	}
	if n > toolstate.MaxApprovals {
		return "Approve the first " + ui.Count(toolstate.MaxApprovals)
	}
	return "Approve all " + ui.Count(n)
}

// row returns a tool as a row of the list.
func (l *list) row(t *toolset.Tool) views.Row {
	use := l.uses.of(t)
	return views.Row{
		ToolRow: admin.ToolRow(t), ReadOnly: t.Access == toolset.AccessRead, Destructive: t.Access == toolset.AccessDestructive,
		ReviewURL: reviewOf(l.slug(), t.FullName), Calls: use.Calls, Share: l.share(use.Calls), Last: use.Last,
	}
}

// share returns the share of the calls of the most called tool.
func (l *list) share(calls int) float64 { return min(float64(calls)/float64(max(l.most, 1)), 1) }

// builtinRows returns the built-in tools. The search tool links to its test.
func (a *Tools) builtinRows(l *list) []views.Builtin {
	var rows []views.Builtin
	for _, raw := range a.builtins.Builtins(l.project) {
		definition, err := rawjson.ParseObject(raw, rawjson.Lenient)
		if err != nil {
			continue
		}
		name, _ := definition.String("name")
		title, _ := definition.String("title")
		effect, use := toolset.AccessOf(raw), l.uses[name]
		row := views.Builtin{
			Name: name, Title: title, ReadOnly: effect == toolset.AccessRead, Destructive: effect == toolset.AccessDestructive,
			Calls: use.Calls, Share: l.share(use.Calls), Last: use.Last,
		}
		if len(rows) == 0 { // the search is the first
			row.URL = paths.ToolSearch(l.slug())
		}
		rows = append(rows, row)
	}
	return rows
}
