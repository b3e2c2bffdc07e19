package public

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access/personal"
	"mcpgateway/services/catalog"
	"mcpgateway/services/fault"
	"mcpgateway/services/query"
	"mcpgateway/services/toolset"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/public"
	"mcpgateway/views/ui"
	"mcpgateway/web/guard"
)

// RegistryOptions are the dependencies of Registry.
type RegistryOptions struct {
	Pages        *Pages
	Catalog      *catalog.Catalog
	Directory    *toolset.Directory // has the projects that an administrator can add a server to
	RunsPrograms func() bool        // whether local servers can run
	OwnProjects  func(userID string) []personal.Project
	Requests     Requests
	Checks       Checks
	Report       *url.URL // where problems with servers are reported; nil means nowhere
}

// Requests are those of users for servers of the catalog. Implemented by requests.Store.
type Requests interface {
	Own(ctx context.Context, userID string) ([]models.CatalogRequest, error)
}

// Registry serves the pages of the server registry.
type Registry struct {
	RegistryOptions
	cards *cards
}

// Checks returns the last check of the server of an entry, and false if it was
// never checked. Implemented by catalog.Catalog.
type Checks interface {
	Check(entryID string) (*models.CatalogCheck, bool)
}

// NewRegistry returns the handlers.
func NewRegistry(o RegistryOptions) *Registry {
	return &Registry{RegistryOptions: o, cards: newCards()}
}

// selection is the state of the list that its URL carries.
type selection struct {
	text   string
	filter catalog.Filter
	sort   catalog.Sort
	words  bool // the query has words to rank by
	person bool // signed in: Filter.Works is on unless the URL has another choice
}

// selected returns the selection of a request. Signed-in users see the servers
// that work here, unless they choose otherwise or the query names a transport.
func selected(c *fiber.Ctx, person, programs bool) selection {
	s := selection{text: strings.ToValidUTF8(c.Query("query"), "\ufffd"), person: person}
	s.filter.Programs = programs
	transport := false
	if parsed, err := query.Registry().Parse(s.text); err == nil {
		n := filterLinks{clauses: parsed.Clauses}
		s.words, transport = n.has(""), n.has("transport")
	}
	s.filter.Here = c.Query("runs") == runsHere
	switch c.Query("works") {
	case "1":
		s.filter.Works = true
	case "0": // all
	default:
		s.filter.Works = person && !s.filter.Here && !transport
	}
	if by := c.Query("signin"); slices.Contains(signInValues, by) {
		s.filter.SignIn = by
	}
	switch by := catalog.Sort(c.Query("sort")); by {
	case catalog.SortName, catalog.SortNewest:
		s.sort = by
	}
	return s
}

// narrows reports whether the selection has a filter.
func (s selection) narrows() bool { return s.filter.Works || s.filter.Here || s.filter.SignIn != "" }

// values returns the parameters of the selection besides the query.
func (s selection) values() url.Values {
	v := url.Values{"signin": {s.filter.SignIn}, "sort": {string(s.sort)}}
	if s.filter.Here {
		v.Set("runs", runsHere)
	}
	byDefault := s.person && !s.filter.Here && !strings.Contains(s.text, "transport:")
	switch {
	case s.filter.Works && !byDefault:
		v.Set("works", "1")
	case !s.filter.Works && byDefault:
		v.Set("works", "0")
	}
	return v
}

// url returns the URL of a page of the selection.
func (s selection) url(number int) string {
	v := s.values()
	v.Set("query", s.text)
	return pageURL(paths.Registry, v, number)
}

// List serves GET /registry: a page of the servers that match the selection. An
// invalid query is shown with its error; if no server matches, the closest ones
// are shown.
func (r *Registry) List(c *fiber.Ctx) error {
	s, number := selected(c, guard.UserOf(c) != nil, r.RunsPrograms()), pageNumber(c)
	props := public.RegistryProps{Notices: expired(c), Works: s.filter.Works}
	view := catalog.View{Text: s.text, Filter: s.filter, Sort: s.sort, Offset: (number - 1) * pageRows, Limit: pageRows}
	found, err := r.Catalog.Browse(view)
	if err == nil && len(found.Rows) == 0 && found.Total > 0 {
		number, view.Offset, props.Notices = 1, 0, append(props.Notices, moved)
		found, err = r.Catalog.Browse(view)
	}
	props.Search = r.search(s)
	if f := fault.From(err); err != nil && f.Kind != fault.KindInvalid {
		return err
	} else if err != nil {
		status(c, err)
		props.Failed, props.Search.Error = true, queryError(query.Registry(), paths.Registry, s.text, f)
	} else if err := r.fill(&props, s, found, number); err != nil {
		return err
	}
	props.Frame = r.Pages.frame(c, r.about(s, number, props))
	props.Tabs = tabsOf(r.Catalog, props.Frame, public.TabServers)
	props.Added = r.addedHere(props.Frame, props.Servers)
	props.Frame.Bar = addYourOwn(props.Frame)
	return render(c, props.Frame, public.Registry(props))
}

// fill sets the servers of the page, or the closest ones, and how to narrow them.
func (r *Registry) fill(props *public.RegistryProps, s selection, found *catalog.Listing, number int) error {
	props.Notices = append(props.Notices, warned(found.Warnings)...)
	props.Servers, props.Closest, props.Local = r.Pages.entries.all(found.Rows), found.Closest, found.Local
	everywhere := s
	everywhere.filter.Works = false
	props.LocalURL = everywhere.url(1)
	props.Count = countOf(s, found.Total)
	props.Pager = numbered(number, found.Total, s.url)
	return r.narrow(props, s)
}

// countOf returns how many servers a selection has, and in which order.
func countOf(s selection, total int) string {
	text := ui.Plural(total, "server", "servers")
	switch {
	case s.filter.Here:
		text = ui.Plural(total, "server that runs here", "servers that run here")
	case s.filter.Works:
		text = ui.Plural(total, "server that works here", "servers that work here")
	}
	return text + ", " + orderWords(s)
}

// search returns the search box of the list.
func (r *Registry) search(s selection) ui.SearchProps {
	p := ui.SearchProps{
		Action: paths.Registry, Query: s.text, Label: "Search the catalog", Live: true,
		Placeholder: "Search " + ui.Plural(len(r.Catalog.AllEntries()), "server", "servers") + ", e.g. tickets tag:crm",
	}
	for name, v := range s.values() {
		if v[0] != "" {
			p.Hidden = append(p.Hidden, ui.Pair{Name: name, Value: v[0]})
		}
	}
	slices.SortFunc(p.Hidden, func(a, b ui.Pair) int { return strings.Compare(a.Name, b.Name) })
	return p
}

// about returns the metadata of a list page. Later pages, other orders and failed
// searches are not indexed by search engines.
func (r *Registry) about(s selection, number int, props public.RegistryProps) pageMeta {
	servers := props.Servers
	a := pageMeta{
		title: "Catalog", description: "MCP servers with their URLs, sign-in and installation, to add to a project in one click.",
		path: address(paths.Registry, s.text), section: layout.SectionRegistry, noIndex: number > 1 || len(servers) == 0 || props.Closest || s.narrows() || s.sort != "",
		crumbs: []layout.Crumb{{Label: "Catalog", URL: paths.Registry}, {Label: "Servers"}},
	}
	if s.text != "" {
		a.title = ui.Clean(clipped(s.text)) + " · Catalog"
	}
	if len(servers) == 0 {
		return a
	}
	names, paths := make([]string, len(servers)), make([]string, len(servers))
	for i, server := range servers {
		names[i], paths[i] = server.Title(), server.Path()
	}
	a.data = r.Pages.itemList((number-1)*pageRows, names, paths)
	return a
}

// clipped truncates a text for a title.
func clipped(s string) string {
	const most = 60 // characters
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
