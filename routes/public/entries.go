package public

import (
	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/catalog"
	"mcpgateway/views/public"
)

// entries complete catalog entries for the pages.
type entries struct {
	catalog *catalog.Catalog
	icons   *frame.Icons
}

// one returns an entry with its icon and its last check.
func (s *entries) one(e *models.CatalogEntry) public.CatalogEntry {
	check, _ := s.catalog.Check(e.ID)
	return public.CatalogEntry{CatalogEntry: e, Icon: s.icons.OfEntry(e), Check: check}
}

// all returns entries like one.
func (s *entries) all(rows []*models.CatalogEntry) []public.CatalogEntry {
	list := make([]public.CatalogEntry, len(rows))
	for i, e := range rows {
		list[i] = s.one(e)
	}
	return list
}
