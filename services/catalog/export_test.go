package catalog

import (
	"log/slog"

	"mcpgateway/models"
	"mcpgateway/services/page"
)

// Of returns a catalog of the rows without a database.
func Of(entries []*models.CatalogEntry, templates []*models.CatalogTemplate, cursors *page.Cursors) (*Catalog, error) {
	c := New(nil, cursors, "key", slog.New(slog.DiscardHandler), nil)
	s, err := newSnapshot(0, entries, templates, nil, nil)
	if err != nil {
		return nil, err
	}
	c.current.Store(s)
	return c, nil
}
