package public

import (
	"cmp"
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
	asked := question{text: strings.ToValidUTF8(c.Query("query"), "\ufffd"), cursor: c.Query("cursor")}
	found, notices, err := findPage(c, asked, func(s catalog.Search) (*catalog.Result[*models.CatalogTemplate], error) {
		return t.catalog.Templates(c.UserContext(), s)
	})
	props := public.TemplatesProps{Notices: notices, Search: ui.SearchProps{
		Action: paths.Templates, Query: asked.text, Label: "Search the templates", Placeholder: "Search templates, category:engineering", HelpURL: "#how-to-search", Live: true,
	}}
	if f := fault.From(err); err != nil && f.Kind != fault.KindInvalid {
		return err
	} else if err != nil {
		status(c, err)
		props.Failed, props.Search.Error = true, queryError(query.Templates(), paths.Templates, asked.text, f)
	} else {
		props.Templates, props.Search.Chips = public.Templates(found.Rows), t.chips(asked.text)
		props.Count, props.Pager = paged(paths.Templates, asked.text, found, "template", "templates")
	}
	props.Frame = t.pages.frame(c, t.about(asked, props.Templates, found))
	return renderList(c, props.Frame, public.TemplateList(props), cursorOf(found), t.catalog.Version())
}

// chips returns the chips of the most frequent categories, and of other clauses
// of the query.
func (t *Templates) chips(text string) []ui.Chip {
	parsed, err := query.Templates().Parse(text)
	if err != nil {
		return nil
	}
	n := filterLinks{path: paths.Templates, clauses: parsed.Clauses}
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

// pageMeta returns the metadata of a list page.
func (t *Templates) about(q question, templates []public.Template, found *catalog.Result[*models.CatalogTemplate]) pageMeta {
	a := pageMeta{
		title: "Templates", description: "Worked MCP examples: a task, the servers it needs and the steps.",
		path: address(paths.Templates, q.text), section: layout.SectionTemplates, noIndex: q.cursor != "" || len(templates) == 0,
	}
	if q.text != "" {
		a.title = ui.Clean(clipped(q.text)) + " · Templates"
	}
	if found == nil || len(templates) == 0 {
		return a
	}
	names, paths := make([]string, len(templates)), make([]string, len(templates))
	for i, row := range templates {
		names[i], paths[i] = ui.Clean(row.Title), row.Path()
	}
	a.data = t.pages.itemList(found.Offset, names, paths)
	return a
}
