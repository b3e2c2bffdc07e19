package catalog

import (
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/catalog/index"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/fault"
	"mcpgateway/services/query"
)

// storedRows are the entries that administrators see, or others that no page
// lists.
type storedRows struct {
	rows  []*models.CatalogEntry // by full name
	index *index.Index
}

// Stored returns the entries that match a query, with hidden ones and without
// deleted ones, by relevance or without text by name. It returns the faults of the
// query grammar. The caller must not modify the entries.
func (c *Catalog) Stored(text string) ([]*models.CatalogEntry, []fault.Warning, error) {
	parsed, err := query.Registry().Parse(text)
	if err != nil {
		return nil, nil, err
	}
	all := c.current.Load().stored()
	hits, _ := all.index.Find(parsed, 0, len(all.rows))
	found := make([]*models.CatalogEntry, len(hits))
	for i, hit := range hits {
		found[i] = all.rows[hit]
	}
	return found, warnings(parsed), nil
}

func (s *snapshot) storedRows() *storedRows {
	return s.rowsOf(func(e *models.CatalogEntry) bool { return e.Status != models.CatalogDeleted && !e.IsOwn() })
}

// withdrawnRows returns the entries that are listed only as deleted.
func (s *snapshot) withdrawnRows() *storedRows { return s.rowsOf(withdrawn) }

func (s *snapshot) rowsOf(has func(*models.CatalogEntry) bool) *storedRows {
	all := &storedRows{rows: make([]*models.CatalogEntry, 0, len(s.official))}
	for _, e := range s.official {
		if has(e) {
			all.rows = append(all.rows, e)
		}
	}
	slices.SortFunc(all.rows, func(a, b *models.CatalogEntry) int { return strings.Compare(sources.FullName(a), sources.FullName(b)) })
	all.index = index.New(len(all.rows), 0, func(row int) index.Document {
		return entryDocument(all.rows[row], query.Fold(all.rows[row].ServerTitle))
	})
	return all
}
