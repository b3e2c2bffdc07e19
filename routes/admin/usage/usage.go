// Package usage serves the pages about the usage of projects.
package usage

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	usageapi "mcpgateway/routes/api/usage"
	"mcpgateway/services/activity/usage"
	"mcpgateway/services/contextcost"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/usage"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Options are the dependencies of Usage. All are required.
type Options struct {
	Pages    *admin.ProjectPages
	Store    *usage.Store
	Builtins contextcost.Builtins
	Names    func() usage.Names // for one response
	Now      func() time.Time
}

// Usage serves the pages.
type Usage struct{ Options }

// New returns the handlers.
func New(o Options) *Usage { return &Usage{o} }

// periods are the choices of a page, in days.
var periods = []int{7, 30, 90, 365}

// query has the parameters of a page.
type query struct {
	path    string
	period  usage.Period
	days    int    // of a period that ends today; 0 for another
	sort    string // column
	invalid string // why the period of the request isn't shown
}

// read reads the parameters of a page. It replaces an invalid period by the
// default.
func (u *Usage) read(c *fiber.Ctx, path string) query {
	q := query{path: path, sort: c.Query("sort")}
	var err error
	if q.period, err = usageapi.PeriodOf(c, u.Now()); err != nil {
		q.period, q.invalid = usage.LastDays(usageapi.DefaultDays, u.Now()), fault.From(err).Message
	}
	if n := q.period.Days(); q.period == usage.LastDays(n, u.Now()) {
		q.days = n
	}
	if !slices.Contains(sorts(), q.sort) {
		q.sort = sortCalls
	}
	return q
}

// Columns to sort by.
const (
	sortName   = "name"
	sortCalls  = "calls"
	sortFailed = "failed"
	sortIn     = "received"
	sortOut    = "sent"
)

func sorts() []string { return []string{sortName, sortCalls, sortFailed, sortIn, sortOut} }

// url returns the address of the page with a period or column changed.
func (q query) url(change func(*query)) string {
	change(&q)
	values := url.Values{}
	if q.days > 0 {
		values.Set("days", strconv.Itoa(q.days))
	} else {
		values.Set("from", q.period.First())
		values.Set("to", q.period.Last())
	}
	if q.sort != sortCalls {
		values.Set("sort", q.sort)
	}
	return q.path + "?" + values.Encode()
}

func (q query) segment() (items []ui.SegmentItem) {
	for _, n := range periods {
		items = append(items, ui.SegmentItem{Label: ui.Count(n) + " days", Current: q.days == n, URL: q.url(func(q *query) { q.days = n })})
	}
	return items
}

// columns returns the headings of a table, with links that sort it.
func (q query) columns(one, id string) []ui.Column {
	columns := []ui.Column{{Label: one}, {Label: "Calls", Num: true}, {Label: "Failed", Num: true}, {Label: "Received", Num: true}, {Label: "Sent", Num: true}}
	for i, by := range sorts() {
		columns[i].SortURL = q.url(func(q *query) { q.sort = by }) + "#" + id
		if by == q.sort {
			columns[i].Sorted = "descending"
			if by == sortName {
				columns[i].Sorted = "ascending"
			}
		}
	}
	return columns
}

// order sorts rows by the chosen column: names ascending, numbers descending.
func (q query) order(rows []views.Row) []views.Row {
	slices.SortStableFunc(rows, func(a, b views.Row) int {
		switch q.sort {
		case sortName:
			if c := a.Day.Compare(b.Day); c != 0 {
				return c
			}
			return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
		case sortFailed:
			return int(min(max(b.Failed-a.Failed, -1), 1))
		case sortIn:
			return int(min(max(b.In-a.In, -1), 1))
		case sortOut:
			return int(min(max(b.Out-a.Out, -1), 1))
		default:
			return int(min(max(b.Calls-a.Calls, -1), 1))
		}
	})
	return rows
}

// Page serves GET /admin/projects/:projectSlug/usage?days=&from=&to=&sort=.
func (u *Usage) Page(c *fiber.Ctx) error {
	project, err := u.Pages.Project(c)
	if err != nil {
		return err
	}
	slug := project.Project.Slug
	q := u.read(c, paths.Usage(slug))
	report, err := u.Store.Report(c.UserContext(), project.Project.ID, q.period)
	if err != nil {
		return err
	}
	cost := contextcost.Of(project, u.Builtins)
	p := views.Props{
		Frame: u.Pages.ProjectFrame(c, project, layout.TabUsage, "Usage"), Periods: q.segment(), Action: q.path, From: q.period.First(), To: q.period.Last(), Invalid: q.invalid,
		CSVURL: paths.UsageExport(slug) + "?" + url.Values{"from": {q.period.First()}, "to": {q.period.Last()}}.Encode(),
		Calls:  report.Totals.Calls, Stats: stats(report, cost), Context: contextOf(project, cost), Cut: report.Cut,
	}
	p.Days, p.Data = charts(report, u.Now())
	p.Tables = u.tables(c.UserContext(), project, q, report)
	return web.Render(c, views.Page(p))
}

// Export serves GET /admin/projects/:projectSlug/usage/export?from=&to=.
func (u *Usage) Export(c *fiber.Ctx) error {
	project, err := u.Pages.Project(c)
	if err != nil {
		return err
	}
	period, err := usageapi.PeriodOf(c, u.Now())
	if err != nil {
		return err
	}
	return usageapi.Download(c, u.Store.ExportCSV(project.Project.ID, period, u.Names()), project.Project.Slug)
}

// All serves GET /admin/usage?days=&from=&to=&sort=.
func (u *Usage) All(c *fiber.Ctx) error {
	q := u.read(c, paths.AllUsage)
	numbers, err := u.Store.Projects(c.UserContext(), q.period)
	if err != nil {
		return err
	}
	p := views.AllProps{Frame: u.Pages.Frame(c, "Usage", layout.SectionProjects), Periods: q.segment(), Columns: q.columns("Project", "projects")}
	p.Crumbs = []layout.Crumb{{Label: "Projects", URL: paths.Home}, {Label: "Usage"}}
	for _, project := range u.Pages.Visible(c.UserContext()) {
		row := rowOf(usage.Row{Name: project.Project.Name, Numbers: numbers[project.Project.ID]})
		if row.Name == "" {
			row.Name = project.Project.Slug
		}
		row.URL = paths.Usage(project.Project.Slug)
		p.Rows = append(p.Rows, row)
	}
	p.Rows = q.order(p.Rows)
	return web.Render(c, views.All(p))
}

func rowOf(r usage.Row) views.Row {
	return views.Row{Name: r.Name, Calls: r.Calls, Failed: r.Failed, In: r.RequestBytes, Out: r.ResponseBytes}
}

// shownRows is the number of rows of each table of the page.
const shownRows = 50

// tables returns the numbers by tool, key, person, toolset and day.
func (u *Usage) tables(ctx context.Context, project *toolset.Snapshot, q query, r *usage.Report) []views.Table {
	slug, names := project.Project.Slug, u.Names()
	build := func(id, title, one, empty string, mono bool, from []usage.Row, name func(usage.Row, *views.Row)) views.Table {
		t := views.Table{ID: id, Title: title, One: one, Mono: mono, Columns: q.columns(one, id), Empty: empty}
		for _, row := range from[:min(len(from), shownRows)] {
			shown := rowOf(row)
			name(row, &shown)
			t.Rows = append(t.Rows, shown)
		}
		t.Rows = q.order(t.Rows)
		return t
	}
	tables := []views.Table{
		build("tools", "Tools", "Tool", "No calls.", true, r.Tools, func(from usage.Row, row *views.Row) {
			row.Note = from.Server
			if from.Name == "" {
				row.Name, row.Note = "Unknown or unreached tools", ""
			} else if from.Server != "" {
				row.URL = paths.Tool(slug, from.Name)
			}
		}),
		build("keys", "Keys", "Key", "No calls with keys.", false, r.Keys, func(from usage.Row, row *views.Row) { row.Name = names.Caller(ctx, from.Name) }),
		build("people", "People", "Person", "No calls by people.", false, r.People, func(from usage.Row, row *views.Row) { row.Name = names.Person(ctx, from.Name) }),
	}
	if len(project.Toolsets) > 0 {
		tables = append(tables, build("toolsets", "Endpoints", "Endpoint", "", false, r.Toolsets, func(from usage.Row, row *views.Row) {
			if row.Name = "Toolset " + from.Name; from.Name == "" {
				row.Name = "Project"
			}
		}))
	}
	return append(tables, days(q, r))
}

// days returns the numbers of the days with calls, the newest first unless they are
// sorted by a number.
func days(q query, r *usage.Report) views.Table {
	t := views.Table{ID: "days", Title: "Days", One: "Day", Columns: q.columns("Day", "days")}
	for _, d := range slices.Backward(r.Days) {
		if d.Calls > 0 {
			row := rowOf(usage.Row{Numbers: d.Numbers})
			row.Day = d.Day
			t.Rows = append(t.Rows, row)
		}
	}
	t.Rows = q.order(t.Rows)
	return t
}

// stats returns the numbers above the charts.
func stats(r *usage.Report, cost *contextcost.Cost) []ui.StatCellProps {
	failed := ui.StatCellProps{Label: "Failed", Value: "–"}
	if r.Totals.Calls > 0 {
		failed.Value, failed.Unit = strconv.FormatFloat(100*float64(r.Totals.Failed)/float64(r.Totals.Calls), 'f', 1, 64), "%"
		failed.Hint = ui.Count(int(r.Totals.Failed)) + " of " + ui.Count(int(r.Totals.Calls))
	}
	return []ui.StatCellProps{
		{Label: "Calls", Value: ui.Count(int(r.Totals.Calls))}, failed,
		{Label: "Received", Hint: "Arguments of calls", Value: views.Bytes(r.Totals.RequestBytes)},
		{Label: "Sent", Hint: "Results of calls", Value: views.Bytes(r.Totals.ResponseBytes)},
		{Label: "Tool list", Hint: "What clients of the project's endpoint receive now", Value: ui.Count(contextcost.Tokens(cost.Listed)), Unit: "tokens"},
	}
}

// charts returns the calls and the data of each day.
func charts(r *usage.Report, now time.Time) (ui.BarsProps, ui.ChartProps) {
	const day = 24 * time.Hour
	axis := ui.Axis{From: r.Days[0].Day, Step: day, Count: len(r.Days)}
	bars := ui.BarsProps{ID: "usage-calls", Label: "Calls per day", Axis: axis}
	in, out := make([]float64, len(r.Days)), make([]float64, len(r.Days))
	for i, d := range r.Days {
		bars.Bars = append(bars.Bars, ui.Bar{OK: int(d.Calls - d.Failed), Failed: int(d.Failed), Previous: -1, Partial: d.Day.Add(day).After(now)})
		in[i], out[i] = float64(d.RequestBytes), float64(d.ResponseBytes)
	}
	text := func(n float64) string { return views.Bytes(int64(n)) }
	return bars, ui.ChartProps{
		ID: "usage-data", Label: "Data per day", Axis: axis, Text: text, Value: text,
		Lines: []ui.Line{{Name: "Sent", Kind: ui.MainLine, Values: out}, {Name: "Received", Kind: ui.InfoLine, Values: in}},
	}
}

// contextOf returns what the lists of a project cost.
func contextOf(project *toolset.Snapshot, cost *contextcost.Cost) views.Context {
	builtin, full := cost.Exposure == models.ExposeBuiltin, contextcost.Tokens(cost.Full)
	c := views.Context{Listed: contextcost.Tokens(cost.Listed), Builtin: builtin}
	add := func(l views.List, characters int) {
		l.Tokens = contextcost.Tokens(characters)
		l.Saves = full - l.Tokens
		c.Lists = append(c.Lists, l)
	}
	add(views.List{Name: "All tools", Tools: ui.Count(len(cost.Tools)), Base: true, Now: !builtin}, cost.Full)
	add(views.List{Name: "Search only", Hint: "Built-in tools. Clients find the others by search.", Tools: "0", Now: builtin}, cost.Builtin)
	for _, t := range cost.Toolsets {
		name := t.Name
		if name == "" {
			name = t.Slug
		}
		add(views.List{Name: name, URL: paths.Toolset(project.Project.Slug, t.ID), Hint: "Toolset " + t.Slug, Tools: ui.Count(t.Tools)}, t.Characters)
	}
	at := map[string]int{}
	for _, s := range cost.Servers {
		at[s.Alias] = len(c.Servers)
		c.Servers = append(c.Servers, views.Server{Alias: s.Alias, Tokens: contextcost.Tokens(s.Characters)})
		c.MostOf = max(c.MostOf, contextcost.Tokens(s.Characters))
	}
	for _, t := range cost.Tools {
		s := &c.Servers[at[t.Server]]
		s.Tools = append(s.Tools, views.Tool{Name: t.Name, URL: paths.Tool(project.Project.Slug, t.Name), Tokens: contextcost.Tokens(t.Characters)})
	}
	slices.SortStableFunc(c.Servers, func(a, b views.Server) int { return b.Tokens - a.Tokens })
	for _, s := range c.Servers {
		slices.SortStableFunc(s.Tools, func(a, b views.Tool) int { return b.Tokens - a.Tokens })
	}
	return c
}
