package oauthserver

import (
	"context"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

// Sweep deletes what has ended: codes, tokens, grants, counts, and clients that
// got no access within a day or that got no token for 90 days, of which the
// latter are recorded as client.purged. It is called every hour, by the replica that owns the sweep.
func (s *Server) Sweep(ctx context.Context) error {
	now := s.now()
	for _, expired := range []struct {
		model any
		where string
		args  []any
	}{
		{&models.OAuthCode{}, "expires_at <= ?", []any{now.Add(-codeKept)}},
		{&models.OAuthToken{}, "expires_at <= ?", []any{now}},
		{&models.OAuthToken{}, `used_at IS NOT NULL AND hash IN (SELECT hash FROM (
			SELECT hash, row_number() OVER (PARTITION BY grant_id ORDER BY created_at DESC, hash) AS place FROM oauth_tokens WHERE used_at IS NOT NULL
		) used WHERE place > ?)`, []any{maxUsedTokens}},
		{&models.OAuthGrant{}, "expires_at <= ? OR revoked_at <= ? OR last_used_at <= ?", []any{now.Add(-grantKept), now.Add(-grantKept), now.Add(-RefreshIdle - grantKept)}},
		{&models.OAuthLimit{}, "started_at <= ?", []any{now.Add(-window)}},
	} {
		if err := s.db.WithContext(ctx).Where(expired.where, expired.args...).Delete(expired.model).Error; err != nil {
			return fault.Internal(err)
		}
	}
	for {
		n, err := s.purgeClients(ctx)
		if err != nil || n < sweptAtOnce {
			return err
		}
	}
}

// purgeClients deletes some clients that are not used, with all that hangs on
// them, and returns how many.
func (s *Server) purgeClients(ctx context.Context) (int, error) {
	now := s.now()
	var rows []models.OAuthClient
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		err := tx.Clauses(models.LockRow(tx)...).Order("created_at, id").Limit(sweptAtOnce).
			Find(&rows, "last_used_at IS NULL AND created_at <= ? OR last_used_at <= ?", now.Add(-UnusedClientLife), now.Add(-IdleClientLife)).Error
		if err != nil || len(rows) == 0 {
			return err
		}
		ids := make([]string, len(rows))
		var entries []activity.Entry
		for i := range rows {
			ids[i] = rows[i].ID
			if rows[i].LastUsedAt != nil { // the audit log never named the others
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
