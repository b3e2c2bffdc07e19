package public

import (
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/catalog"
	"mcpgateway/services/fault"
	"mcpgateway/services/query"
	"mcpgateway/services/toolset"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/public"
	"mcpgateway/views/ui"
)

// pageRows is the number of rows on a page. It fills two, three and four
// columns of cards.
const pageRows = 24

// Registry serves the pages of the server registry.
type Registry struct {
	pages    *Pages
	catalog  *catalog.Catalog
	projects *toolset.Directory
}

// NewRegistry returns the handlers. projects are those that an administrator
// can add a server to.
func NewRegistry(pages *Pages, c *catalog.Catalog, projects *toolset.Directory) *Registry {
	return &Registry{pages: pages, catalog: c, projects: projects}
}

// List serves GET /registry: the pages of servers that match the query. An
// invalid query is shown with its error. A cursor of an older catalog results
// in the current first page.
func (r *Registry) List(c *fiber.Ctx) error {
	asked := question{text: strings.ToValidUTF8(c.Query("query"), "\ufffd"), cursor: c.Query("cursor")}
	found, notices, err := findPage(c, asked, func(s catalog.Search) (*catalog.Result[*models.CatalogEntry], error) {
		return r.catalog.Entries(c.UserContext(), s)
	})
	props := public.RegistryProps{Search: r.search(asked.text), Notices: notices}
	if err == nil {
		err = r.narrow(&props, asked.text, found)
	}
	if f := fault.From(err); err != nil && f.Kind != fault.KindInvalid {
		return err
	} else if err != nil {
		status(c, err)
		props.Failed, props.Search.Error = true, queryError(query.Registry(), paths.Registry, asked.text, f)
	} else {
		props.Servers = public.Servers(found.Rows)
		props.Count, props.Pager = paged(paths.Registry, asked.text, found, "server", "servers")
	}
	props.Frame = r.pages.frame(c, r.about(asked, props.Servers, found))
	return renderList(c, props.Frame, public.Registry(props), cursorOf(found), r.catalog.Version())
}

// question is the query and cursor of a request for a list.
type question struct{ text, cursor string }

// findPage returns the requested page. If its cursor is stale or invalid, it returns
// the first page and a notice.
func findPage[T any](c *fiber.Ctx, q question, find func(catalog.Search) (*catalog.Result[T], error)) (*catalog.Result[T], []public.Notice, error) {
	search := catalog.Search{Text: q.text, Limit: pageRows, Continue: q.cursor != "", Cursor: q.cursor}
	found, err := find(search)
	var notices []public.Notice
	switch {
	case fault.Is(err, fault.CodeCursorStale):
		notices = append(notices, public.Notice{Tone: ui.Warn, Text: "the catalog has changed. This is its first page."})
	case fault.Is(err, fault.CodeInvalidCursor):
		notices = append(notices, public.Notice{Tone: ui.Warn, Text: "This link is no longer valid. This is the first page."})
	}
	if len(notices) > 0 {
		status(c, err)
		search.Continue, search.Cursor = false, ""
		found, err = find(search)
	}
	if err != nil {
		return nil, notices, err
	}
	for _, w := range found.Warnings {
		notices = append(notices, public.Notice{Text: w.Message})
	}
	return found, notices, nil
}

// paged returns the range that a page shows and the link to the next page.
// There is no link to the previous page, because cursors only lead forward.
func paged[T any](path, text string, found *catalog.Result[T], one, many string) (string, ui.PagerProps) {
	if found.Total == 0 {
		return "", ui.PagerProps{}
	}
	end := found.Offset + len(found.Rows)
	count := ui.Plural(found.Total, one, many)
	if end-found.Offset < found.Total {
		count = fmt.Sprintf("%s–%s of %s", ui.Count(found.Offset+1), ui.Count(end), count)
	}
	pager := ui.PagerProps{Shown: ui.Count(len(found.Rows)) + " shown"}
	if found.Offset > 0 {
		pager.FirstURL = address(path, text)
	}
	if found.NextCursor != "" {
		pager.NextURL = continued(path, text, found.NextCursor)
	}
	return count, pager
}

// cursorOf returns the cursor of the next page, or "".
func cursorOf[T any](found *catalog.Result[T]) string {
	if found == nil {
		return ""
	}
	return found.NextCursor
}

// search returns the search box of the list.
func (r *Registry) search(text string) ui.SearchProps {
	return ui.SearchProps{
		Action: paths.Registry, Query: text, Label: "Search the registry", Placeholder: "Search servers, tag:search, verified:true", HelpURL: "#how-to-search", Live: true,
	}
}

// pageMeta returns the metadata of a list page. Later pages and failed searches
// are not indexed by search engines, because their URLs don't last.
func (r *Registry) about(q question, servers []public.CatalogEntry, found *catalog.Result[*models.CatalogEntry]) pageMeta {
	a := pageMeta{
		title: "Registry", description: "MCP servers with their URLs, authentication and installation.",
		path: address(paths.Registry, q.text), section: layout.SectionRegistry, noIndex: q.cursor != "" || found == nil || len(servers) == 0,
	}
	if q.text != "" {
		a.title = ui.Clean(clipped(q.text)) + " · Registry"
	}
	if found == nil || len(servers) == 0 {
		return a
	}
	names, paths := make([]string, len(servers)), make([]string, len(servers))
	for i, s := range servers {
		names[i], paths[i] = s.Title(), s.Path()
	}
	a.data = r.pages.itemList(found.Offset, names, paths)
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

// Page serves GET /registry/:publisher/:server. For an unknown server it
// responds with 404 and similar names.
func (r *Registry) Page(c *fiber.Ctx) error {
	publisher, server := c.Params("publisher"), c.Params("server")
	e, err := r.catalog.EntryByName(publisher, server)
	if fault.Is(err, fault.CodeNotFound) {
		return r.notFound(c, err, publisher, server)
	}
	if err != nil {
		return err
	}
	s := public.CatalogEntry{CatalogEntry: e}
	f := r.pages.frame(c, pageMeta{
		title: s.Title() + " by " + s.Publisher(), description: ui.Clean(e.Description), path: s.Path(), section: layout.SectionRegistry, data: r.pages.software(s),
	})
	props := public.RegistryItemProps{Frame: f, Server: s, Templates: r.templatesWith(e)}
	if f.Admin() {
		props.Projects = options(r.projects)
	}
	return render(c, f, public.RegistryItem(props))
}

func (r *Registry) notFound(c *fiber.Ctx, err error, publisher, server string) error {
	return r.pages.notFound(c, err, public.MissingProps{
		What: "server " + clipped(publisher+"/"+server), Near: nearServers(c.UserContext(), r.catalog, publisher, server),
		AllLabel: "Search the registry", AllURL: paths.Registry,
	}, layout.SectionRegistry)
}
