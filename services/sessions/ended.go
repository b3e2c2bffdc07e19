// Package sessions remembers which sessions of MCP clients were ended before
// their time. The sessions themselves are kept by nobody: a session id carries
// its own proof.
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

// Hash identifies a session without being good for using it.
type Hash [sha256.Size]byte

// HashOf returns the hash of a session id.
func HashOf(id string) Hash { return sha256.Sum256([]byte(id)) }

// Publisher runs this process's subscribers of changed topics.
type Publisher interface {
	Published(ctx context.Context, topics ...notify.Topic) error
}

// Ended holds the ended sessions in memory, so that every process refuses
// them without asking the database. It is safe for concurrent use.
type Ended struct {
	db   *gorm.DB
	feed Publisher
	max  int
	now  func() time.Time

	reload sync.Mutex // held while rows are read or removed

	mu     sync.RWMutex // guards what follows
	until  map[Hash]time.Time
	newest time.Time // the latest expiry that was read
	swept  time.Time
}

// NewEnded returns an empty index of at most max sessions, which MaxEnded
// should be; Load fills it.
func NewEnded(db *gorm.DB, feed Publisher, max int, now func() time.Time) *Ended {
	return &Ended{db: db, feed: feed, max: max, now: now, until: map[Hash]time.Time{}}
}

// Load removes what has expired and reads all that is left. It returns the
// database's failure as an INTERNAL fault.
func (e *Ended) Load(ctx context.Context) error {
	e.reload.Lock()
	defer e.reload.Unlock()
	if err := e.sweep(ctx); err != nil {
		return err
	}
	return e.read(ctx, time.Time{})
}

// Changed reads the sessions that were ended lately when topic is theirs.
// Other topics are ignored. It returns the database's failure as an INTERNAL
// fault.
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

// Has reports whether the session was ended.
func (e *Ended) Has(session Hash) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	_, ok := e.until[session]
	return ok
}

// End ends a session for every process. It returns RATE_LIMITED when as many
// are remembered as may be, and INTERNAL when it could not be stored.
func (e *Ended) End(ctx context.Context, session Hash) error {
	if err := e.sweepNowAndThen(ctx); err != nil {
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
		f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "too many sessions were ended lately: leave this one, it ends by itself")
		f.RetryAfter = sweepInterval
		return f
	}
	// The row outlives the session whenever that began, and its expiry tells
	// other processes which rows are new to them.
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
	return e.feed.Published(ctx, notify.Sessions())
}

// read adds the rows that expire after since, or all. There are not many more
// than may be remembered. The caller holds reload.
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

// sweepNowAndThen removes what has expired, at most once per sweepInterval.
func (e *Ended) sweepNowAndThen(ctx context.Context) error {
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

// sweep removes what has expired, here and in the database. The caller holds
// reload.
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
