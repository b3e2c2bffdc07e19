package sources

import (
	"context"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/outbox"
)

// Times of the events about keys.
const (
	// ExpiringBefore is the time before its expiry at which a key is reported.
	ExpiringBefore = 7 * 24 * time.Hour
	// KeysInterval is the interval between checks of keys.
	KeysInterval = time.Minute

	expiredWithin = 24 * time.Hour // older ones were reported, or expired while the gateway was off
	statesKept    = 400 * 24 * time.Hour
)

// keyRow is a key that expires, with the slug of its project.
type keyRow struct {
	ID, Name, Slug string
	ExpiresAt      time.Time
}

// Keys raises key.expiring and key.expired, once for each key and time of expiry.
// One replica calls it at every KeysInterval. It returns a database error as an
// INTERNAL fault.
func (s *Sources) Keys(ctx context.Context) error {
	now := s.now()
	var rows []keyRow
	err := s.db.WithContext(ctx).Model(&models.Key{}).Select("keys.id, keys.name, keys.expires_at, projects.slug").
		Joins("JOIN projects ON projects.id = keys.project_id").Order("keys.expires_at").
		Where("keys.revoked_at IS NULL AND keys.expires_at > ? AND keys.expires_at <= ?", now.Add(-expiredWithin), now.Add(ExpiringBefore)).Scan(&rows).Error
	if err != nil {
		return fault.Internal(err)
	}
	for _, row := range rows {
		if err := s.key(ctx, row, now); err != nil {
			return err
		}
	}
	// What is so old is reported again only if it changes.
	if err := s.db.WithContext(ctx).Delete(&models.OutboxState{}, "at < ?", now.Add(-statesKept)).Error; err != nil {
		return fault.Internal(err)
	}
	return nil
}

func (s *Sources) key(ctx context.Context, row keyRow, now time.Time) error {
	expires := row.ExpiresAt.UTC()
	kind, message := outbox.KeyExpiring, "the key "+row.Name+" expires on "+expires.Format("2 January 2006 at 15:04 UTC")
	if !now.Before(expires) {
		kind, message = outbox.KeyExpired, "the key "+row.Name+" expired"
	}
	state := kind + " " + expires.Format(time.RFC3339)
	event := outbox.Event{Kind: kind, Project: row.Slug, Data: map[string]any{"message": message, "keyId": row.ID, "name": row.Name, "expiresAt": expires}}
	var found int64
	if err := s.db.WithContext(ctx).Model(&models.OutboxState{}).Where("subject = ? AND state = ?", "key:"+row.ID, state).Count(&found).Error; err != nil {
		return fault.Internal(err)
	}
	if found > 0 {
		return nil // without a transaction for each key and minute
	}
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		_, err := s.events.Change(tx, "key:"+row.ID, stateNone, state, event)
		return err
	})
	if err != nil {
		return fault.From(err)
	}
	return nil
}
