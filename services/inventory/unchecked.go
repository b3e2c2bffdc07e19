package inventory

import (
	"context"
	"fmt"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream/listing"
	"mcpgateway/services/upstream/wire"
)

// addUnchecked adds a warning for each listed tool whose arguments the gateway
// can't validate, if the server's project validates arguments.
func (s *Syncer) addUnchecked(ctx context.Context, server *models.Server, found *listed) error {
	if s.Unchecked == nil || len(found.tools) == 0 {
		return nil
	}
	var project models.Project
	if err := s.DB.WithContext(ctx).Select("validate_arguments").Take(&project, "id = ?", server.ProjectID).Error; err != nil {
		return err
	}
	if !project.ValidateArguments {
		return nil
	}
	for _, raw := range found.tools {
		definition := toolset.Inspect(raw).Definition
		why := s.Unchecked(definition)
		if why == "" {
			continue
		}
		if len(found.warnings) >= listing.MaxWarnings {
			return nil
		}
		name := "?"
		if o, err := rawjson.ParseObject(definition, rawjson.Lenient); err == nil {
			name, _ = o.String("name")
		}
		found.warnings = append(found.warnings, fmt.Sprintf("tool %q: its arguments are not checked: %s", wire.Excerpt([]byte(name)), why))
	}
	return nil
}

// validates sets whether a server's project validates arguments. A change
// schedules an immediate sync, because its warnings depend on it.
func (s *schedule) validates(serverID string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[serverID]; e != nil && e.validates != on {
		e.validates, e.next = on, s.now()
		e.since = e.next
		s.signal()
	}
}
