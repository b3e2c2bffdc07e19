package oauthserver

import (
	"context"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

// DiscardNamed ends all grants of the registered clients with a name and deletes
// them with all their rows. It records oauth.grant_revoked for each grant and
// client.purged for clients with a consent. Without such a client it does nothing.
func (s *Server) DiscardNamed(ctx context.Context, name string) error {
	named := s.db.Model(&models.OAuthClient{}).Select("id").Where("kind = ? AND name = ?", models.ClientRegistered, name)
	var grants []string
	if err := s.db.WithContext(ctx).Model(&models.OAuthGrant{}).Where("client_id IN (?) AND revoked_at IS NULL", named).Pluck("id", &grants).Error; err != nil {
		return fault.Internal(err)
	}
	for _, id := range grants {
		if err := s.end(ctx, id, "oauth.grant_revoked", "the client was deleted"); err != nil {
			return err
		}
	}
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var clients []models.OAuthClient
		if err := tx.Clauses(models.LockRow(tx)...).Find(&clients, "kind = ? AND name = ?", models.ClientRegistered, name).Error; err != nil {
			return err
		}
		var entries []activity.Entry
		for i := range clients {
			if clients[i].LastUsedAt != nil { // the others are not in the audit log
				entries = append(entries, clientEntry("client.purged", &clients[i]))
			}
			if err := tx.Delete(&models.OAuthClient{}, "id = ?", clients[i].ID).Error; err != nil {
				return err
			}
		}
		if len(entries) == 0 {
			return nil
		}
		return s.audit.RecordAll(tx, entries)
	})
	if err != nil {
		return fault.From(err)
	}
	return nil
}
