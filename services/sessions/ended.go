// Package sessions stores the state of MCP client sessions: which were ended
// early, their log levels and their resource subscriptions. The sessions
// themselves are not stored: a session id is authenticated by its own content.
package sessions

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Hash identifies a session. It is not a credential.
type Hash [sha256.Size]byte

// HashOf returns the hash of a session id.
func HashOf(id string) Hash { return sha256.Sum256([]byte(id)) }

// Publisher notifies the subscribers of changed topics.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Ended caches the ended sessions, so that every process rejects them without a
// database query. It is safe for concurrent use.
type Ended struct {
	db   *gorm.DB
	feed Publisher
	max  int
	now  func() time.Time

	reload sync.Mutex // held while rows are read or deleted

	mu     sync.RWMutex // guards the fields below
	until  map[Hash]time.Time
	newest time.Time // latest expiry read
	swept  time.Time
}

// NewEnded returns an empty Ended for at most max sessions, usually MaxEnded.
// Load must be called before use.
func NewEnded(db *gorm.DB, feed Publisher, max int, now func() time.Time) *Ended {
	return &Ended{db: db, feed: feed, max: max, now: now, until: map[Hash]time.Time{}}
}

// Load deletes expired rows and reads the others. It returns a database error
// as an INTERNAL fault.
func (e *Ended) Load(ctx context.Context) error {
	e.reload.Lock()
	defer e.reload.Unlock()
	if err := e.sweep(ctx); err != nil {
		return err
	}
	return e.read(ctx, time.Time{})
}

// Changed reads recently ended sessions if topic is theirs, and ignores other
// topics. It returns a database error as an INTERNAL fault.
func (e *Ended) Changed(ctx context.Context, topic notify.Topic) error {
	if !topic.IsSessions() {
		return nil
	}
	e.reload.Lock()
	defer e.reload.Unlock()
	e.mu.RLock()
	since := e.newest
	e.mu.RUnlock()
	if !since.IsZero() {
		since = since.Add(-reloadOverlap)
	}
	return e.read(ctx, since)
}

// IsEnded reports whether the session was ended.
func (e *Ended) IsEnded(session Hash) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	_, ok := e.until[session]
	return ok
}

// End ends a session in every process. It returns RATE_LIMITED when the maximum
// is reached, and INTERNAL if storing fails.
func (e *Ended) End(ctx context.Context, session Hash) error {
	if err := e.maybeSweep(ctx); err != nil {
		return err
	}
	e.mu.RLock()
	_, known := e.until[session]
	full := len(e.until) >= e.max
	e.mu.RUnlock()
	switch {
	case known:
		return nil
	case full:
		f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "Too many sessions were ended recently. This session will expire automatically.")
		f.RetryAfter = sweepInterval
		return f
	}
	// The row outlives the session. Other processes find new rows by their
	// expiry.
	row := models.EndedSession{Hash: session[:], ExpiresAt: e.now().Add(Lifetime)}
	err := e.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
			return err
		}
		return notify.Touch(tx, notify.Sessions())
	})
	if err != nil {
		return fault.Internal(err)
	}
	e.mu.Lock()
	e.until[session] = row.ExpiresAt
	e.mu.Unlock()
	return e.feed.Publish(ctx, notify.Sessions())
}

// read adds the rows that expire after since, or all. Their number is limited
// to a little over max. The caller must hold reload.
func (e *Ended) read(ctx context.Context, since time.Time) error {
	query := e.db.WithContext(ctx)
	if !since.IsZero() {
		query = query.Where("expires_at > ?", since)
	}
	var rows []models.EndedSession
	if err := query.Find(&rows).Error; err != nil {
		return fault.Internal(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, row := range rows {
		if len(row.Hash) != len(Hash{}) {
			continue
		}
		e.until[Hash(row.Hash)] = row.ExpiresAt
		if row.ExpiresAt.After(e.newest) {
			e.newest = row.ExpiresAt
		}
	}
	return nil
}

// maybeSweep deletes expired sessions, at most once per sweepInterval.
func (e *Ended) maybeSweep(ctx context.Context) error {
	e.mu.RLock()
	due := e.now().Sub(e.swept) >= sweepInterval
	e.mu.RUnlock()
	if !due {
		return nil
	}
	e.reload.Lock()
	defer e.reload.Unlock()
	return e.sweep(ctx)
}

// sweep deletes expired sessions in memory and in the database. The caller must
// hold reload.
func (e *Ended) sweep(ctx context.Context) error {
	now := e.now()
	if err := e.db.WithContext(ctx).Where("expires_at <= ?", now).Delete(&models.EndedSession{}).Error; err != nil {
		return fault.Internal(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for session, until := range e.until {
		if !until.After(now) {
			delete(e.until, session)
		}
	}
	e.swept = now
	return nil
}
