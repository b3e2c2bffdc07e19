package public

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/catalog"
	"mcpgateway/services/nearest"
	"mcpgateway/services/query"
	"mcpgateway/views/public"
	"mcpgateway/views/ui"
)

// Limits of the search for similar names.
const (
	maxNear      = 5
	maxCompared  = 5000 // names of a catalog that are compared by edit distance
	maxNearWords = 4    // searched parts of the name
	maxNameRunes = 100  // length of a compared name, in characters
)

// nearServers returns servers with similar names: with the same server name,
// with a small edit distance, or found by a search for parts of the name.
func nearServers(ctx context.Context, c *catalog.Catalog, publisher, server string) []ui.Pair {
	var found []*models.CatalogEntry
	add := func(list []*models.CatalogEntry) {
		for _, e := range list {
			if len(found) < maxNear && !slices.Contains(found, e) {
				found = append(found, e)
			}
		}
	}
	if len(server) > maxNameRunes {
		server = server[:maxNameRunes]
	}
	add(similarNames(c.AllEntries(), server, func(e *models.CatalogEntry) string { return e.ServerName }))
	for _, text := range append(parts(server), parts(publisher)...) {
		if len(found) == maxNear {
			break
		}
		if hits, err := c.Entries(ctx, catalog.Search{Text: text, Limit: maxNear}); err == nil {
			add(hits.Rows)
		}
	}
	near := make([]ui.Pair, len(found))
	for i, s := range public.Servers(found) {
		near[i] = ui.Pair{Name: s.Title() + " by " + s.Publisher(), Value: s.Path()}
	}
	return near
}

// nearTemplates returns templates with similar slugs in the same way.
func nearTemplates(ctx context.Context, c *catalog.Catalog, slug string) []ui.Pair {
	if len(slug) > maxNameRunes {
		slug = slug[:maxNameRunes]
	}
	found := similarNames(c.AllTemplates(), slug, func(t *models.CatalogTemplate) string { return t.Slug })
	for _, text := range parts(slug) {
		hits, err := c.Templates(ctx, catalog.Search{Text: text, Limit: maxNear})
		if err != nil {
			continue
		}
		for _, t := range hits.Rows {
			if len(found) < maxNear && !slices.Contains(found, t) {
				found = append(found, t)
			}
		}
	}
	near := make([]ui.Pair, len(found))
	for i, t := range public.Templates(found) {
		near[i] = ui.Pair{Name: ui.Clean(t.Title), Value: t.Path()}
	}
	return near
}

// similarNames returns the rows whose names have a small edit distance to name,
// closest first. It compares only the first maxCompared rows to bound the cost
// of unauthenticated requests.
func similarNames[T any](rows []T, name string, nameOf func(T) string) []T {
	type candidate struct {
		row T
		at  int
	}
	name = strings.ToLower(name)
	most := min(3, len(name)/3)
	var candidates []candidate
	for _, row := range rows[:min(maxCompared, len(rows))] {
		other := strings.ToLower(nameOf(row))
		if len(other)-len(name) > most || len(name)-len(other) > most {
			continue
		}
		if d := nearest.Distance(name, other); d <= most {
			candidates = append(candidates, candidate{row, d})
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.at, b.at) })
	near := make([]T, min(maxNear, len(candidates)))
	for i := range near {
		near[i] = candidates[i].row
	}
	return near
}

// parts returns the longest parts of a name, each as a text query.
func parts(name string) []string {
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-_. ", r) })
	words = slices.DeleteFunc(words, func(w string) bool { return len(w) < 3 || w == "mcp" || w == "server" })
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	words = words[:min(maxNearWords, len(words))]
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = (&query.Query{Clauses: []query.Clause{{Value: strings.ToValidUTF8(w, "")}}}).Canonical()
	}
	return texts
}
