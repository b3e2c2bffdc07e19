package connectors

import (
	"context"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

// connected records connector.connected, with the replica and the address of the
// runner. It returns NOT_FOUND for a connector that may not connect any more.
func (s *Store) connected(ctx context.Context, row models.Connector, replica, from string) error {
	return s.seen(ctx, row, "connector.connected", map[string]string{"replica": replica, "address": from}, true)
}

// disconnected records connector.disconnected, with the replica and the reason.
func (s *Store) disconnected(ctx context.Context, row models.Connector, replica, reason string) error {
	return s.seen(ctx, row, "connector.disconnected", map[string]string{"replica": replica, "reason": reason}, false)
}

// seen records an event and when the connector was seen. A deleted connector
// leaves no record.
func (s *Store) seen(ctx context.Context, row models.Connector, action string, detail map[string]string, usable bool) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		rows := tx.Model(&models.Connector{}).Where("id = ?", row.ID)
		if usable {
			rows = s.usable(rows)
		}
		updated := rows.Update("last_seen_at", s.now())
		if updated.Error != nil {
			return updated.Error
		}
		if updated.RowsAffected == 0 {
			return fault.NotFound("connector", row.ID)
		}
		var project models.Project
		if err := tx.Select("slug").First(&project, "id = ?", row.ProjectID).Error; err != nil {
			return err
		}
		return s.audit.RecordAll(tx, []activity.Entry{{Action: action, Object: row.Name, ObjectID: row.ID, Project: project.Slug, Detail: detail}})
	})
	if err != nil {
		return fault.From(err)
	}
	return nil
}

// touch records that connectors are connected now.
func (s *Store) touch(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if err := s.db.WithContext(ctx).Model(&models.Connector{}).Where("id IN ?", ids).Update("last_seen_at", s.now()).Error; err != nil {
		return fault.Internal(err)
	}
	return nil
}

// stillUsable returns which of the connectors may stay connected.
func (s *Store) stillUsable(ctx context.Context, ids []string) (map[string]bool, error) {
	var found []string
	if err := s.usable(s.db.WithContext(ctx).Model(&models.Connector{})).Where("id IN ?", ids).Pluck("id", &found).Error; err != nil {
		return nil, fault.Internal(err)
	}
	usable := make(map[string]bool, len(found))
	for _, id := range found {
		usable[id] = true
	}
	return usable, nil
}
