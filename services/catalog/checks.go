package catalog

import "mcpgateway/models"

// Check returns the last check of the server of an entry, and false if it was
// never checked. The caller must not modify it.
func (c *Catalog) Check(entryID string) (*models.CatalogCheck, bool) {
	check, ok := c.current.Load().checks[entryID]
	return check, ok
}

func (s *snapshot) addChecks(list []*models.CatalogCheck) {
	s.checks = make(map[string]*models.CatalogCheck, len(list))
	for _, check := range list {
		s.checks[check.EntryID] = check
	}
}
