// Package registry serves the public registry of servers and templates as JSON.
package registry

import (
	"maps"
	"slices"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/catalog"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/web"
)

// publicCache is the Cache-Control of catalog responses.
const publicCache = "public, max-age=60"

// Registry serves the public registry of servers.
type Registry struct {
	catalog *catalog.Catalog
}

// New returns the handlers.
func New(c *catalog.Catalog) *Registry { return &Registry{catalog: c} }

// List serves GET /api/registry: a query search if query or cursor is present,
// even if empty, and otherwise a search by the legacy parameters.
func (r *Registry) List(c *fiber.Ctx) error {
	return cached(c, r.catalog, func() error {
		p := readParameters(c)
		if !p.has("query") && !p.has("cursor") {
			return r.legacy(c, p)
		}
		search, err := p.search()
		if err != nil {
			return err
		}
		found, err := r.catalog.Entries(c.UserContext(), search)
		if err != nil {
			return err
		}
		if found.Total == 0 && !search.Continue {
			return r.closest(c, search.Text, found.Warnings)
		}
		return answerFound(c, found, catalog.NewEntryItem)
	})
}

// closest responds with an empty page and the ids of the entries closest to a query
// without matches.
func (r *Registry) closest(c *fiber.Ctx, text string, warnings []fault.Warning) error {
	rows, err := r.catalog.Closest(text)
	if err != nil {
		return err
	}
	var ids []string
	for _, e := range rows {
		ids = append(ids, e.ID)
	}
	if len(ids) > 0 {
		warnings = append(warnings, catalog.NoLiteralMatch())
	}
	return c.JSON(struct {
		page.Items[catalog.EntryItem]
		Suggestions []string `json:"suggestions,omitempty"`
	}{page.NewItems[catalog.EntryItem](nil, "", warnings, nil), ids})
}

func (r *Registry) legacy(c *fiber.Ctx, p parameters) error {
	l, err := p.legacy()
	if err != nil {
		return err
	}
	rows := r.catalog.Legacy(l)
	items := make([]catalog.LegacyItem, len(rows))
	for i, e := range rows {
		items[i] = catalog.NewLegacyItem(e)
	}
	return c.JSON(struct {
		Items []catalog.LegacyItem `json:"items"`
	}{items})
}

// cached responds with 304 if the client's copy is current. Errors have no
// ETag.
func cached(c *fiber.Ctx, source *catalog.Catalog, answer func() error) error {
	if web.Unchanged(c, web.ETag(source.Version(), c.OriginalURL()), publicCache) {
		return nil
	}
	err := answer()
	if err != nil {
		c.Response().Header.Del(fiber.HeaderETag)
	}
	return err
}

// answerFound responds with a page of rows, converted by item.
func answerFound[R, T any](c *fiber.Ctx, found *catalog.Result[R], item func(R) T) error {
	items := make([]T, len(found.Rows))
	for i, row := range found.Rows {
		items[i] = item(row)
	}
	return c.JSON(page.NewItems(items, found.NextCursor, found.Warnings, nil))
}

// parameters are the query parameters of a URL by name.
type parameters map[string][]string

func readParameters(c *fiber.Ctx) parameters {
	p := parameters{}
	for key, value := range c.Context().QueryArgs().All() {
		p[string(key)] = append(p[string(key)], string(value))
	}
	return p
}

func (p parameters) has(name string) bool { return len(p[name]) > 0 }

// first returns the first value of a parameter, or "".
func (p parameters) first(name string) string {
	if !p.has(name) {
		return ""
	}
	return p[name][0]
}

// legacyOnly reports whether a parameter exists only in the legacy mode.
func legacyOnly(name string) bool {
	return slices.Contains([]string{"search", "publisher", "type", "tag", "verified", "featured", "requireTools", "offset"}, name)
}

// only returns CONFLICTING_PARAMETERS for a legacy filter in combination with
// query or cursor, and INVALID_PARAMETER for other unknown or repeated
// parameters.
func (p parameters) only(allowed ...string) error {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		switch {
		case legacyOnly(name) && (p.has("query") || p.has("cursor")):
			return fault.New(fault.KindInvalid, fault.CodeConflictingParameters, "%s cannot be combined with query or cursor. %s.", name, instead(name))
		case legacyOnly(name):
			return fault.Invalid("Unknown parameter %s. %s.", name, instead(name))
		case !slices.Contains(allowed, name):
			return fault.Invalid("Unknown parameter %q. Use query, cursor and limit.", clipped(name))
		case len(p[name]) > 1:
			return fault.Invalid("%s is repeated. Send it once.", name)
		}
	}
	return nil
}

// instead returns advice for a legacy parameter in query mode.
func instead(name string) string {
	switch name {
	case "offset":
		return "For the next page, send nextCursor as cursor"
	case "search":
		return "Send the text as query"
	}
	return "Send it in query, such as query=tag:search"
}

func clipped(s string) string {
	const most = 40 // characters
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// search returns the page requested by a query search. It rejects other
// parameters.
func (p parameters) search() (catalog.Search, error) {
	if err := p.only("query", "cursor", "limit"); err != nil {
		return catalog.Search{}, err
	}
	limit, err := page.QueryLimit().Parse(p.first("limit"))
	return catalog.Search{Text: p.first("query"), Limit: limit, Continue: p.has("cursor"), Cursor: p.first("cursor")}, err
}
