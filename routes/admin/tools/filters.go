package tools

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/query"
	"mcpgateway/services/toolsearch/literal"
	"mcpgateway/services/toolset"
	"mcpgateway/views/paths"
)

// Values of the parameters of the list.
const (
	showUnused = "unused" // tools that are on and weren't used in unusedDays
	viewFlat   = "flat"

	sortName   = "name"
	sortAccess = "access"
	sortCalls  = "calls"
	sortUsed   = "used"
	sortState  = "state"
)

// filters are the parameters of the list. Actions on all tools that match use
// them, too.
type filters struct {
	query   string
	show    string // state, showUnused or empty
	server  string // alias or empty
	flat    bool
	sort    string // by which column; the most called first unless it is set
	reverse bool
	closed  []string // aliases of closed groups
	page    int
}

// readFilters returns the filters of a URL's query.
func readFilters(q url.Values) filters {
	f := filters{
		query: strings.TrimSpace(q.Get("query")), show: q.Get("show"), server: q.Get("server"),
		flat: q.Get("view") == viewFlat, closed: q["closed"], page: 1,
	}
	if n, err := strconv.Atoi(q.Get("page")); err == nil {
		f.page = max(n, 1)
	}
	f.sort, f.reverse = strings.CutPrefix(q.Get("sort"), "-")
	if !slices.Contains([]string{sortName, sortAccess, sortCalls, sortUsed, sortState}, f.sort) {
		f.sort, f.reverse = sortCalls, false
	}
	return f
}

// values returns the query of the list's URL.
func (f filters) values() url.Values {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("query", f.query)
	set("show", f.show)
	set("server", f.server)
	if f.flat {
		set("view", viewFlat)
	}
	switch {
	case f.reverse:
		set("sort", "-"+f.sort)
	case f.sort != sortCalls:
		set("sort", f.sort)
	}
	for _, alias := range f.closed {
		q.Add("closed", alias)
	}
	if f.page > 1 {
		set("page", strconv.Itoa(f.page))
	}
	return q
}

// url returns the URL of the list.
func (f filters) url(slug string) string {
	if q := f.values(); len(q) > 0 {
		return paths.Tools(slug) + "?" + q.Encode()
	}
	return paths.Tools(slug)
}

// with returns changed filters, on the first page.
func (f filters) with(change func(*filters)) filters {
	f.page, f.closed = 1, slices.Clone(f.closed)
	change(&f)
	return f
}

// sortedBy returns the filters of the list sorted by a column, in reverse if it
// already is.
func (f filters) sortedBy(column string) filters {
	return f.with(func(f *filters) { f.sort, f.reverse = column, f.sort == column && !f.reverse })
}

// descending reports whether the list is sorted in descending order. Numbers
// begin with the highest.
func (f filters) descending() bool {
	return (f.sort == sortCalls || f.sort == sortUsed) != f.reverse
}

// searched returns the tools that match a query.
func searched(all []*toolset.Tool, text string) ([]*toolset.Tool, error) {
	if text == "" {
		return all, nil
	}
	q, err := query.ToolList().Parse(text)
	if err != nil {
		return nil, err
	}
	return literal.Filter(all, q), nil
}

// uses are the uses of a project's tools.
type uses map[string]traffic.Use

// of returns the use of a tool. Older calls may have another of its names.
func (u uses) of(t *toolset.Tool) traffic.Use {
	use := u[t.Name]
	if t.FullName != t.Name {
		other := u[t.FullName]
		use.Calls += other.Calls
		if other.Last.After(use.Last) {
			use.Last = other.Last
		}
	}
	return use
}

// shown reports whether a tool is among those of the parameter show.
func shown(t *toolset.Tool, show string, u uses) bool {
	switch show {
	case "":
		return true
	case showUnused:
		return t.Hidden == toolset.Visible && u.of(t).Last.IsZero()
	}
	return literal.StateOf(t) == show
}

// matching returns the tools that match the filters, in the order of the snapshot.
func matching(found []*toolset.Tool, f filters, u uses) []*toolset.Tool {
	return slices.DeleteFunc(slices.Clone(found), func(t *toolset.Tool) bool {
		return !shown(t, f.show, u) || f.server != "" && t.Server.Config.Alias != f.server
	})
}

// sortTools sorts tools by the chosen column and then by name.
func sortTools(tools []*toolset.Tool, f filters, u uses) {
	rank := func(order []string, value string) int { return slices.Index(order, value) }
	compare := func(a, b *toolset.Tool) int {
		switch f.sort {
		case sortName:
			return cmp.Compare(a.Name, b.Name)
		case sortAccess:
			order := []string{string(toolset.AccessRead), string(toolset.AccessWrite), string(toolset.AccessDestructive)}
			return cmp.Compare(rank(order, string(a.Access)), rank(order, string(b.Access)))
		case sortState:
			order := []string{"approve", "on", "off"}
			return cmp.Compare(rank(order, literal.StateOf(a)), rank(order, literal.StateOf(b)))
		case sortUsed:
			return u.of(a).Last.Compare(u.of(b).Last)
		}
		return cmp.Compare(u.of(a).Calls, u.of(b).Calls)
	}
	slices.SortStableFunc(tools, func(a, b *toolset.Tool) int {
		order := compare(a, b)
		if f.descending() {
			order = -order
		}
		return cmp.Or(order, cmp.Compare(a.Name, b.Name))
	})
}
