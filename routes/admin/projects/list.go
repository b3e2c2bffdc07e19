package projects

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

// projectsPerPage is the number of projects on a page.
const projectsPerPage = 50

// needsAttention is the filter of projects with a server that fails or needs a
// user.
const needsAttention = "attention"

// The columns by which the list is sorted. All but the name begin with the
// highest value.
const (
	byName   = "name"
	byCalls  = "calls"
	byFailed = "failed"
	byP95    = "p95"
	byLast   = "last"
)

// listQuery are the parameters of a list of projects.
type listQuery struct {
	text, state, period, sort string
	reverse                   bool
	page                      int // from 1
}

// listQueryOf returns the parameters of a URL. Unknown values are the defaults.
func listQueryOf(values url.Values) listQuery {
	q := listQuery{text: strings.TrimSpace(strings.ToValidUTF8(values.Get("query"), "\ufffd")), period: "24h", sort: byCalls, page: 1}
	if values.Get("state") == needsAttention {
		q.state = needsAttention
	}
	if values.Get("period") == "7d" {
		q.period = "7d"
	}
	if by := values.Get("sort"); slices.Contains([]string{byName, byCalls, byFailed, byP95, byLast}, by) {
		q.sort = by
	}
	q.reverse = values.Get("reverse") == "1"
	if n, err := strconv.Atoi(values.Get("page")); err == nil && n > 1 {
		q.page = min(n, 1_000_000)
	}
	return q
}

// encoded returns the query of a URL without defaults.
func (q listQuery) encoded() string {
	values := url.Values{}
	for _, v := range []struct{ name, value, usual string }{
		{"query", q.text, ""}, {"state", q.state, ""}, {"period", q.period, "24h"}, {"sort", q.sort, byCalls}, {"page", strconv.Itoa(q.page), "1"},
	} {
		if v.value != v.usual {
			values.Set(v.name, v.value)
		}
	}
	if q.reverse {
		values.Set("reverse", "1")
	}
	return values.Encode()
}

// url returns the URL of the list with a change, on its first page.
func (q listQuery) url(change func(*listQuery)) string {
	q.page = 1
	change(&q)
	if query := q.encoded(); query != "" {
		return paths.Home + "?" + query
	}
	return paths.Home
}

// hidden returns the parameters that the search keeps.
func (q listQuery) hidden() []ui.Pair {
	q.text, q.page = "", 1
	values, _ := url.ParseQuery(q.encoded())
	var pairs []ui.Pair
	for _, name := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, ui.Pair{Name: name, Value: values.Get(name)})
	}
	return pairs
}

func (q listQuery) periods() []ui.SegmentItem {
	var items []ui.SegmentItem
	for _, name := range []string{"24h", "7d"} {
		items = append(items, ui.SegmentItem{Label: name, URL: q.url(func(q *listQuery) { q.period = name }), Current: q.period == name})
	}
	return items
}

// column returns the heading of a column by which the list can be sorted.
func (q listQuery) column(by string, c ui.Column) ui.Column {
	descending := by != byName
	c.SortURL = q.url(func(q *listQuery) { q.reverse = q.sort == by && !q.reverse; q.sort = by })
	if q.sort == by {
		c.Sorted = "ascending"
		if descending != q.reverse {
			c.Sorted = "descending"
		}
	}
	return c
}

func (q listQuery) columns() []ui.Column {
	hours := "24 h"
	if q.period == "7d" {
		hours = "7 d"
	}
	return []ui.Column{
		q.column(byName, ui.Column{Label: "Project"}), {Label: "Servers"}, {Label: "Calls"}, q.column(byCalls, ui.Column{Label: hours, Num: true}),
		q.column(byFailed, ui.Column{Label: "Failed", Num: true}), q.column(byP95, ui.Column{Label: "p95", Num: true}), {Label: "Clients sign in with"},
		q.column(byLast, ui.Column{Label: "Last call"}), {Label: "More", Hidden: true},
	}
}

// found is a project of the list.
type found struct {
	*toolset.Snapshot
	status    layout.NavProject
	attention bool
	totals    traffic.Totals
	last      time.Time
}

// list returns the projects that match a query, one page of them in full. It has
// their servers checked while the page is open.
func (p *Projects) list(ctx context.Context, q listQuery, isAdmin bool) (list views.ProjectList, err error) {
	now := time.Now()
	period, _ := traffic.Last(q.period, now)
	totals, err := p.traffic.ProjectTotals(ctx, period)
	if err != nil {
		return list, err
	}
	all := p.pages.Visible(ctx)
	list = views.ProjectList{Now: now, Any: len(all) > 0, IsAdmin: isAdmin, Query: q.text, Columns: q.columns(), Filtered: q.text != "" || q.state != ""}
	var matching []found
	attention, named := 0, 0
	for _, s := range all {
		if !hasText(s, q.text) {
			continue
		}
		named++
		one := found{Snapshot: s, status: p.pages.Navigation.Status(s), totals: totals[s.Project.ID]}
		if one.attention = one.status.Tone == "bad" || one.status.Tone == "warn"; one.attention {
			attention++
		}
		if q.state == "" || one.attention {
			matching = append(matching, one)
		}
	}
	list.Chips = []ui.Chip{
		{Label: "All", Count: ui.Count(named), On: q.state == "", URL: q.url(func(q *listQuery) { q.state = "" })},
		{Label: "Needs attention", Count: ui.Count(attention), On: q.state != "", URL: q.url(func(q *listQuery) { q.state = needsAttention })},
	}
	list.Sums = sums(matching, q.period)
	if err := p.sort(ctx, matching, q); err != nil {
		return list, err
	}
	pages := max(1, (len(matching)+projectsPerPage-1)/projectsPerPage)
	q.page = min(q.page, pages)
	first := (q.page - 1) * projectsPerPage
	shown := matching[first:min(len(matching), first+projectsPerPage)]
	list.Pages = ui.PagesProps{Page: q.page, Last: pages, URL: func(n int) string { return q.url(func(q *listQuery) { q.page = n }) }}
	list.Rows, err = p.rows(ctx, shown, period, isAdmin)
	return list, err
}

// hasText reports whether a project's name or slug contains the text.
func hasText(s *toolset.Snapshot, text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(strings.ToLower(s.Project.Name), text) || strings.Contains(s.Project.Slug, text)
}

// sums returns the sums of the projects in words.
func sums(all []found, period string) string {
	servers, calls := 0, 0
	for _, one := range all {
		servers += len(one.Servers)
		calls += one.totals.Calls
	}
	words := "in the last 24 hours"
	if period == "7d" {
		words = "in the last 7 days"
	}
	return ui.Plural(len(all), "project", "projects") + " · " + ui.Plural(servers, "server", "servers") + " · " + ui.Plural(calls, "call", "calls") + " " + words
}

// sort sorts the projects. It reads the times of the last calls only if they are
// needed.
func (p *Projects) sort(ctx context.Context, all []found, q listQuery) (err error) {
	if q.sort == byLast {
		for i := range all {
			if all[i].last, err = p.traffic.LastCall(ctx, all[i].Project.ID); err != nil {
				return err
			}
		}
	}
	order := 1
	if q.reverse {
		order = -1
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(order*compare(q.sort, a, b), cmp.Compare(strings.ToLower(called(a)), strings.ToLower(called(b))), cmp.Compare(a.Project.Slug, b.Project.Slug))
	})
	return nil
}

// compare compares two projects by a column.
func compare(by string, a, b found) int {
	share := func(f found) float64 { return float64(f.totals.Failed) / float64(max(1, f.totals.Calls)) }
	switch by {
	case byName:
		return cmp.Compare(strings.ToLower(called(a)), strings.ToLower(called(b)))
	case byFailed:
		return cmp.Compare(share(b), share(a))
	case byP95:
		return cmp.Compare(b.totals.P95, a.totals.P95)
	case byLast:
		return b.last.Compare(a.last)
	}
	return cmp.Compare(b.totals.Calls, a.totals.Calls)
}

func called(f found) string { return cmp.Or(f.Project.Name, f.Project.Slug) }

// rows returns the rows of a page.
func (p *Projects) rows(ctx context.Context, shown []found, period traffic.Period, isAdmin bool) ([]views.ProjectRow, error) {
	series, err := p.traffic.Projects(ctx, period)
	if err != nil {
		return nil, err
	}
	usable, err := p.keys.Usable(ctx)
	if err != nil {
		return nil, err
	}
	var rows []views.ProjectRow
	for _, one := range shown {
		p.pages.Health.Syncer.Attend(one.Snapshot)
		if one.last.IsZero() {
			if one.last, err = p.traffic.LastCall(ctx, one.Project.ID); err != nil {
				return nil, err
			}
		}
		rows = append(rows, p.row(one, series[one.Project.ID], usable[one.Project.ID], isAdmin, reach.Of(ctx).SeesAll()))
	}
	return rows, nil
}

func (p *Projects) row(one found, buckets []traffic.Bucket, keys int, isAdmin, canExport bool) views.ProjectRow {
	slug, t := one.Project.Slug, one.totals
	_, shared := projects.Shared(one.Project, rowsOf(one.Servers))
	row := views.ProjectRow{
		Slug: slug, Name: one.Project.Name, Endpoint: p.public.JoinPath("/v1/mcp", slug, "request").String(), Shared: shared, Last: one.last,
		Calls: t.Calls, Failed: ui.Percent(t.Failed, t.Calls), ManyFailed: t.Failed*20 >= t.Calls && t.Failed > 0, P95: ui.Took(t.P95), CanDelete: isAdmin, CanExport: canExport,
	}
	for _, b := range buckets {
		row.Series = append(row.Series, float64(b.Calls))
	}
	row.Up = strings.TrimSuffix(strings.TrimSuffix(one.status.Status(), " servers up"), " server up") + " up"
	p.states(&row, one)
	switch one.Project.AuthMode {
	case models.AuthNone:
		row.Access, row.AccessIcon, row.Open = "Open", "lock-open", true
	case models.AuthOAuth:
		row.Access, row.AccessIcon = "Sign-in", "shield-check"
	default:
		row.Access, row.AccessIcon = "Keys · "+ui.Count(keys), "key-round"
	}
	return row
}

// states adds the states of a project's servers, with a link to one that fails
// or to all that need a user.
func (p *Projects) states(row *views.ProjectRow, one found) {
	var failing, waiting []*toolset.Server
	for _, server := range one.Servers {
		if !server.Config.Enabled {
			continue
		}
		state, _ := p.pages.Health.StateOf(server)
		row.Bar = append(row.Bar, state.Tone)
		switch state.Tone {
		case ui.Bad:
			failing = append(failing, server)
		case ui.Warn:
			waiting = append(waiting, server)
		}
	}
	slices.SortStableFunc(row.Bar, func(a, b ui.Tone) int { return cmp.Compare(toneRank(a), toneRank(b)) })
	link := func(servers []*toolset.Server, word, words string) {
		row.Trouble, row.TroubleURL = ui.Count(len(servers))+" "+words, paths.Servers(row.Slug)
		if len(servers) == 1 {
			row.Trouble, row.TroubleURL = servers[0].Config.Alias+" "+word, paths.Server(row.Slug, servers[0].Config.ID)
		}
	}
	switch {
	case len(failing) > 0:
		link(failing, "down", "down")
		row.TroubleTone = ui.Bad
	case len(waiting) > 0:
		word := "you"
		if all(waiting, func(s *toolset.Server) bool {
			state, _ := p.pages.Health.StateOf(s)
			return state.Kind == views.StateReconnect
		}) {
			word = "reconnecting"
		}
		link(waiting, "needs "+word, "need "+word)
		row.TroubleTone = ui.Warn
	}
}

func all[T any](list []T, holds func(T) bool) bool {
	return !slices.ContainsFunc(list, func(v T) bool { return !holds(v) })
}

func toneRank(t ui.Tone) int { return slices.Index([]ui.Tone{ui.OK, ui.Neutral, ui.Warn, ui.Bad}, t) }
