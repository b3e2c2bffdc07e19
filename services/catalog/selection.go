package catalog

import (
	"sort"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/query"
)

// Selection is a part of the catalog. A nil *Selection is the whole catalog.
type Selection struct {
	Query   string               // in the grammar of query.Registry; ignored with Added
	Changed time.Time            // of Query
	Added   map[string]time.Time // when the selected entries were added, by ID, or nil for those that match Query
}

// in returns the function that reports whether a selection has an entry, or a
// fault of the query grammar. Only with deleted, a query matches withdrawn entries.
func (sel *Selection) in(s *snapshot, deleted bool) (func(*models.CatalogEntry) bool, error) {
	switch {
	case sel == nil:
		return func(*models.CatalogEntry) bool { return true }, nil
	case sel.Added != nil:
		return func(e *models.CatalogEntry) bool { _, ok := sel.Added[e.ID]; return ok }, nil
	}
	parsed, err := query.Registry().Parse(sel.Query)
	if err != nil {
		return nil, err
	}
	matches := map[*models.CatalogEntry]bool{}
	s.entryIndex.Each(parsed, func(row uint32) { matches[s.entries[row]] = true })
	if deleted {
		gone := s.gone()
		gone.index.Each(parsed, func(row uint32) { matches[gone.rows[row]] = true })
	}
	return func(e *models.CatalogEntry) bool { return matches[e] }, nil
}

// updated returns the time since which an entry is in a selection as it is now.
func (sel *Selection) updated(e *models.CatalogEntry) time.Time {
	since := time.Time{}
	switch {
	case sel == nil:
	case sel.Added != nil:
		since = sel.Added[e.ID]
	default:
		since = sel.Changed
	}
	if since.After(e.UpdatedAt) {
		return since
	}
	return e.UpdatedAt
}

// after returns the index of the first official entry that follows a name.
func (s *snapshot) after(publisher, server string) int {
	return sort.Search(len(s.official), func(i int) bool {
		e := s.official[i]
		return e.PublisherName > publisher || e.PublisherName == publisher && e.ServerName > server
	})
}

// officialByName returns the entry with the full name, or nil. Withdrawn entries
// are found only if deleted is set.
func (s *snapshot) officialByName(name string, deleted bool) *models.CatalogEntry {
	if e := s.byName[name]; e != nil || !deleted {
		return e
	}
	publisher, server, _ := strings.Cut(name, "/")
	if i := s.after(publisher, server) - 1; i >= 0 && sources.FullName(s.official[i]) == name {
		return s.official[i]
	}
	return nil
}
