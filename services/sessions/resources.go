package sessions

import (
	"context"
	"crypto/sha256"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Resources stores the resource subscriptions of sessions (MCP 2025-11-25,
// "Subscriptions"). The process that serves a session's stream delivers the
// updates, also for subscriptions made through other processes or before a
// restart. It is safe for concurrent use.
type Resources struct {
	db    *gorm.DB
	feed  Publisher
	now   func() time.Time
	swept atomic.Int64 // Unix seconds
}

// NewResources returns the subscriptions in db. Changes are published on feed.
func NewResources(db *gorm.DB, feed Publisher, now func() time.Time) *Resources {
	return &Resources{db: db, feed: feed, now: now}
}

// Add subscribes a session to a resource of a project. An existing subscription
// is unchanged. It returns RATE_LIMITED beyond MaxResources, and a database
// error as an INTERNAL fault.
func (r *Resources) Add(ctx context.Context, session, projectID, uri string) error {
	now := r.now()
	hash := sha256.Sum256([]byte(uri))
	row := models.SessionResource{Session: session, URIHash: hash[:], URI: uri, ProjectID: projectID, CreatedAt: now, ExpiresAt: now.Add(Lifetime)}
	return r.change(ctx, session, func(tx *gorm.DB) error {
		if err := r.maybeSweep(tx); err != nil {
			return err
		}
		var held int64
		if err := tx.Model(&models.SessionResource{}).Where("session = ? AND uri_hash <> ?", session, hash[:]).Count(&held).Error; err != nil {
			return err
		}
		if held >= MaxResources {
			return fault.New(fault.KindRateLimited, fault.CodeRateLimited, "This session has the maximum of %d subscriptions. Unsubscribe from a resource first.", MaxResources)
		}
		return tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error
	})
}

// Remove deletes a subscription if it exists. It returns a database error as an
// INTERNAL fault.
func (r *Resources) Remove(ctx context.Context, session, uri string) error {
	hash := sha256.Sum256([]byte(uri))
	return r.change(ctx, session, func(tx *gorm.DB) error {
		return tx.Where("session = ? AND uri_hash = ?", session, hash[:]).Delete(&models.SessionResource{}).Error
	})
}

// End deletes all subscriptions of a session. It returns a database error as an
// INTERNAL fault.
func (r *Resources) End(ctx context.Context, session string) error {
	_, uris, err := r.Of(ctx, session)
	if err != nil || len(uris) == 0 {
		return err
	}
	return r.change(ctx, session, func(tx *gorm.DB) error {
		return tx.Where("session = ?", session).Delete(&models.SessionResource{}).Error
	})
}

// Of returns the session's subscribed resources, oldest first, and their
// project. It returns a database error as an INTERNAL fault.
func (r *Resources) Of(ctx context.Context, session string) (projectID string, uris []string, err error) {
	var rows []models.SessionResource
	err = r.db.WithContext(ctx).Order("created_at, uri_hash").Find(&rows, "session = ? AND expires_at > ?", session, r.now()).Error
	if err != nil {
		return "", nil, fault.Internal(err)
	}
	for _, row := range rows {
		projectID = row.ProjectID
		uris = append(uris, row.URI)
	}
	return projectID, uris, nil
}

func (r *Resources) change(ctx context.Context, session string, write func(*gorm.DB) error) error {
	topic := notify.SessionResources(session)
	err := r.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := write(tx); err != nil {
			return err
		}
		return notify.Touch(tx, topic)
	})
	if err != nil {
		return fault.From(err)
	}
	return r.feed.Publish(ctx, topic)
}

// maybeSweep deletes the rows of expired sessions.
func (r *Resources) maybeSweep(tx *gorm.DB) error {
	now, last := r.now(), r.swept.Load()
	if now.Unix()-last < int64(sweepInterval/time.Second) || !r.swept.CompareAndSwap(last, now.Unix()) {
		return nil
	}
	return tx.Where("expires_at <= ?", now).Delete(&models.SessionResource{}).Error
}
