package catalog

import "mcpgateway/models"

// Check returns the last check of a remote server. ok is false if it was never
// checked. The caller must not modify the result.
func (c *Catalog) Check(entryID string) (check *models.CatalogCheck, ok bool) {
	check, ok = c.current.Load().checks[entryID]
	return check, ok
}

func byEntry(checks []*models.CatalogCheck) map[string]*models.CatalogCheck {
	all := make(map[string]*models.CatalogCheck, len(checks))
	for _, check := range checks {
		all[check.EntryID] = check
	}
	return all
}

// fillTools sets the tools of entries whose source names none, from their last
// check. Stored rows don't change.
func (s *snapshot) fillTools() {
	for _, e := range s.official {
		check := s.checks[e.ID]
		if check == nil || len(e.ToolNames) > 0 {
			continue
		}
		for _, tool := range check.Tools {
			e.ToolNames = append(e.ToolNames, tool.Name)
			switch {
			case tool.ReadOnly == nil:
			case *tool.ReadOnly:
				e.ReadTools = append(e.ReadTools, tool.Name)
			default:
				e.WriteTools = append(e.WriteTools, tool.Name)
			}
		}
	}
}

// sinks reports whether pages list an entry after the others, because its
// server does not respond.
func (s *snapshot) sinks(entryID string) bool {
	check := s.checks[entryID]
	return check != nil && check.Sinks()
}
