package oauthserver

import (
	"context"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

// Sweep deletes expired codes, tokens, tokens for views, grants and counts, clients without
// consent after a day, and clients without tokens for 90 days. The latter are
// recorded as client.purged. It is called every hour by one replica.
func (s *Server) Sweep(ctx context.Context) error {
	now := s.now()
	for _, expired := range []struct {
		model any
		where string
		args  []any
	}{
		{&models.OAuthCode{}, "expires_at <= ?", []any{now.Add(-codeRetention)}},
		{&models.OAuthToken{}, "expires_at <= ?", []any{now}},
		{&models.OAuthViewToken{}, "expires_at <= ?", []any{now}},
		{&models.OAuthToken{}, `used_at IS NOT NULL AND hash IN (SELECT hash FROM (
			SELECT hash, row_number() OVER (PARTITION BY grant_id ORDER BY created_at DESC, hash) AS place FROM oauth_tokens WHERE used_at IS NOT NULL
		) used WHERE place > ?)`, []any{maxUsedTokens}},
		{&models.OAuthGrant{}, "expires_at <= ? OR revoked_at <= ? OR last_used_at <= ?", []any{now.Add(-grantRetention), now.Add(-grantRetention), now.Add(-RefreshIdle - grantRetention)}},
		{&models.OAuthLimit{}, "started_at <= ?", []any{now.Add(-window)}},
	} {
		if err := s.db.WithContext(ctx).Where(expired.where, expired.args...).Delete(expired.model).Error; err != nil {
			return fault.Internal(err)
		}
	}
	for {
		n, err := s.purgeClients(ctx)
		if err != nil || n < sweepBatch {
			return err
		}
	}
}

// purgeClients deletes a batch of unused clients with all their rows, and
// returns their number.
func (s *Server) purgeClients(ctx context.Context) (int, error) {
	now := s.now()
	var rows []models.OAuthClient
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		err := tx.Clauses(models.LockRow(tx)...).Order("created_at, id").Limit(sweepBatch).
			Find(&rows, "last_used_at IS NULL AND created_at <= ? OR last_used_at <= ?", now.Add(-UnusedClientLife), now.Add(-IdleClientLife)).Error
		if err != nil || len(rows) == 0 {
			return err
		}
		ids := make([]string, len(rows))
		var entries []activity.Entry
		for i := range rows {
			ids[i] = rows[i].ID
			if rows[i].LastUsedAt != nil { // the others are not in the audit log
				entries = append(entries, clientEntry("client.purged", &rows[i]))
			}
		}
		if err := tx.Delete(&models.OAuthClient{}, "id IN ?", ids).Error; err != nil {
			return err
		}
		if len(entries) == 0 {
			return nil
		}
		return s.audit.RecordAll(tx, entries)
	})
	if err != nil {
		return 0, fault.Internal(err)
	}
	return len(rows), nil
}
