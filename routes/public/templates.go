package public

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/catalog"
	"mcpgateway/services/fault"
	"mcpgateway/services/query"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/public"
	"mcpgateway/views/ui"
)

// shownCategories is the number of categories with a chip.
const shownCategories = 10

// Templates serves the pages of the template catalog.
type Templates struct {
	pages   *Pages
	catalog *catalog.Catalog
}

// NewTemplates returns the handlers.
func NewTemplates(pages *Pages, c *catalog.Catalog) *Templates {
	return &Templates{pages: pages, catalog: c}
}

// List serves GET /templates in the same way as Registry.List.
func (t *Templates) List(c *fiber.Ctx) error {
	text, number := strings.ToValidUTF8(c.Query("query"), "\ufffd"), pageNumber(c)
	props := public.TemplatesProps{Notices: expired(c), Search: ui.SearchProps{
		Action: paths.Templates, Query: text, Label: "Search the templates", Placeholder: "Search templates, e.g. category:engineering", Live: true,
	}}
	find := func(number int) (*catalog.Result[*models.CatalogTemplate], error) {
		return t.catalog.Templates(c.UserContext(), catalog.Search{Text: text, Offset: (number - 1) * pageRows, Limit: pageRows})
	}
	found, err := find(number)
	if err == nil && len(found.Rows) == 0 && number > 1 {
		number, props.Notices = 1, append(props.Notices, moved)
		found, err = find(number)
	}
	if f := fault.From(err); err != nil && f.Kind != fault.KindInvalid {
		return err
	} else if err != nil {
		status(c, err)
		props.Failed, props.Search.Error = true, queryError(query.Templates(), paths.Templates, text, f)
	} else {
		props.Notices = append(props.Notices, warned(found.Warnings)...)
		props.Templates, props.Search.Chips = public.Templates(found.Rows), t.chips(text)
		props.Count = ui.Plural(found.Total, "template", "templates")
		props.Pager = numbered(number, found.Total, func(n int) string { return pageURL(paths.Templates, url.Values{"query": {text}}, n) })
	}
	props.Frame = t.pages.frame(c, t.about(text, number, props.Templates))
	props.Tabs = tabsOf(t.catalog, props.Frame, public.TabTemplates)
	return render(c, props.Frame, public.TemplateList(props))
}

// chips returns the chips of the most frequent categories, and of other clauses
// of the query.
func (t *Templates) chips(text string) []ui.Chip {
	parsed, err := query.Templates().Parse(text)
	if err != nil {
		return nil
	}
	n := filterLinks{link: func(text string) string { return address(paths.Templates, text) }, clauses: parsed.Clauses}
	counts := map[string]int{}
	for _, row := range t.catalog.AllTemplates() {
		counts[row.Category]++
	}
	delete(counts, "")
	var chips []ui.Chip
	for _, category := range frequent(counts, shownCategories) {
		link, on := n.toggle("category", category)
		chips = append(chips, ui.Chip{Label: public.Capital(ui.Clean(category)), URL: link, On: on, Count: ui.Count(counts[category])})
	}
	return append(chips, n.active(chips)...)
}

// frequent returns the n most frequent values, in alphabetical order.
func frequent(counts map[string]int, n int) []string {
	values := make([]string, 0, len(counts))
	for value := range counts {
		values = append(values, value)
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	values = values[:min(n, len(values))]
	slices.Sort(values)
	return values
}

// about returns the metadata of a list page.
func (t *Templates) about(text string, number int, templates []public.Template) pageMeta {
	a := pageMeta{
		title: "Templates", description: "Ready-made MCP projects: servers, steps and settings for one task.",
		path: address(paths.Templates, text), section: layout.SectionTemplates, noIndex: number > 1 || len(templates) == 0,
		crumbs: []layout.Crumb{{Label: "Catalog", URL: paths.Registry}, {Label: "Templates"}},
	}
	if text != "" {
		a.title = ui.Clean(clipped(text)) + " · Templates"
	}
	if len(templates) == 0 {
		return a
	}
	names, paths := make([]string, len(templates)), make([]string, len(templates))
	for i, row := range templates {
		names[i], paths[i] = ui.Clean(row.Title), row.Path()
	}
	a.data = t.pages.itemList((number-1)*pageRows, names, paths)
	return a
}
