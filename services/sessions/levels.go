package sessions

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Levels are the log levels that clients set for their sessions (MCP
// 2025-11-25, "Logging"). They are stored, so that they survive restarts, and
// cached in every process, so that calls need no database query. The least
// recently used session is evicted first and then has the default level. Levels
// is safe for concurrent use.
type Levels struct {
	db   *gorm.DB
	feed Publisher
	max  int
	now  func() time.Time

	any    atomic.Bool // false until a level is set; most clients never do
	reload sync.Mutex  // held while rows are read

	mu     sync.Mutex // guards the fields below
	order  *list.List // of *sessionLevel, most recently used first
	levels map[string]*list.Element
	newest time.Time // latest expiry read
	swept  time.Time
}

type sessionLevel struct{ session, level string }

// NewLevels returns the levels of at most max sessions, usually MaxLevels. Load
// must be called before use.
func NewLevels(db *gorm.DB, feed Publisher, max int, now func() time.Time) *Levels {
	return &Levels{db: db, feed: feed, max: max, now: now, order: list.New(), levels: map[string]*list.Element{}}
}

// Of returns the level of a session, or "".
func (l *Levels) Of(session string) string {
	if !l.any.Load() {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.levels[session]
	if e == nil {
		return ""
	}
	l.order.MoveToFront(e)
	return e.Value.(*sessionLevel).level
}

// Set sets the level of a session in every process. It returns a database error
// as an INTERNAL fault.
func (l *Levels) Set(ctx context.Context, session, level string) error {
	if l.Of(session) == level {
		return nil
	}
	row := models.SessionLevel{Session: session, Level: level, ExpiresAt: l.now().Add(Lifetime)}
	evicted := l.keep(session, level)
	return l.change(ctx, func(tx *gorm.DB) error {
		if evicted != "" {
			if err := tx.Where("session = ?", evicted).Delete(&models.SessionLevel{}).Error; err != nil {
				return err
			}
		}
		if err := l.maybeSweep(tx); err != nil {
			return err
		}
		return tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error
	})
}

// Forget deletes the level of an ended session. Other processes cache it until
// it expires, which is harmless: the session id is rejected. It returns a
// database error as an INTERNAL fault.
func (l *Levels) Forget(ctx context.Context, session string) error {
	l.mu.Lock()
	e := l.levels[session]
	if e != nil {
		l.remove(e)
	}
	l.mu.Unlock()
	if e == nil {
		return nil
	}
	if err := l.db.WithContext(ctx).Where("session = ?", session).Delete(&models.SessionLevel{}).Error; err != nil {
		return fault.Internal(err)
	}
	return nil
}

// Load reads all levels. It returns a database error as an INTERNAL fault.
func (l *Levels) Load(ctx context.Context) error {
	l.reload.Lock()
	defer l.reload.Unlock()
	return l.read(ctx, l.now())
}

// Changed reads recently set levels if topic is theirs, and ignores other
// topics. It returns a database error as an INTERNAL fault.
func (l *Levels) Changed(ctx context.Context, topic notify.Topic) error {
	if !topic.IsSessionLevels() {
		return nil
	}
	l.reload.Lock()
	defer l.reload.Unlock()
	l.mu.Lock()
	since := l.newest.Add(-reloadOverlap)
	l.mu.Unlock()
	if now := l.now(); since.Before(now) {
		since = now
	}
	return l.read(ctx, since)
}

// read caches the rows that expire after since, up to the maximum. The caller
// must hold reload.
func (l *Levels) read(ctx context.Context, since time.Time) error {
	var rows []models.SessionLevel
	if err := l.db.WithContext(ctx).Order("expires_at DESC").Limit(l.max).Find(&rows, "expires_at > ?", since).Error; err != nil {
		return fault.Internal(err)
	}
	for i := len(rows) - 1; i >= 0; i-- {
		l.keep(rows[i].Session, rows[i].Level)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(rows) > 0 && rows[0].ExpiresAt.After(l.newest) {
		l.newest = rows[0].ExpiresAt
	}
	return nil
}

// keep caches a level and returns the evicted session, or "".
func (l *Levels) keep(session, level string) (evicted string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.any.Store(true)
	if e := l.levels[session]; e != nil {
		e.Value.(*sessionLevel).level = level
		l.order.MoveToFront(e)
		return ""
	}
	l.levels[session] = l.order.PushFront(&sessionLevel{session, level})
	if l.order.Len() > l.max {
		return l.remove(l.order.Back())
	}
	return ""
}

func (l *Levels) remove(e *list.Element) (session string) {
	session = l.order.Remove(e).(*sessionLevel).session
	delete(l.levels, session)
	return session
}

func (l *Levels) change(ctx context.Context, write func(*gorm.DB) error) error {
	err := l.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := write(tx); err != nil {
			return err
		}
		return notify.Touch(tx, notify.SessionLevels())
	})
	if err != nil {
		return fault.From(err)
	}
	return l.feed.Publish(ctx, notify.SessionLevels())
}

// maybeSweep deletes the rows of expired sessions, at most once per
// sweepInterval.
func (l *Levels) maybeSweep(tx *gorm.DB) error {
	now := l.now()
	l.mu.Lock()
	due := now.Sub(l.swept) >= sweepInterval
	if due {
		l.swept = now
	}
	l.mu.Unlock()
	if !due {
		return nil
	}
	return tx.Where("expires_at <= ?", now).Delete(&models.SessionLevel{}).Error
}
