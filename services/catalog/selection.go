package catalog

import (
	"sort"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/query"
)

// Selection is a part of the catalog. A nil *Selection is the whole catalog.
type Selection struct {
	Query string          // in the grammar of query.Registry; ignored with IDs
	IDs   map[string]bool // of the selected entries, or nil for those that match Query
}

// in returns the function that reports whether a selection has an entry, or a
// fault of the query grammar. Hidden and deleted entries match no query.
func (sel *Selection) in(s *snapshot) (func(*models.CatalogEntry) bool, error) {
	switch {
	case sel == nil:
		return func(*models.CatalogEntry) bool { return true }, nil
	case sel.IDs != nil:
		return func(e *models.CatalogEntry) bool { return sel.IDs[e.ID] }, nil
	}
	parsed, err := query.Registry().Parse(sel.Query)
	if err != nil {
		return nil, err
	}
	matches := map[*models.CatalogEntry]bool{}
	s.entryIndex.Each(parsed, func(row uint32) { matches[s.entries[row]] = true })
	return func(e *models.CatalogEntry) bool { return matches[e] }, nil
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
