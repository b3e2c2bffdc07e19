package accounts

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
)

const (
	// useEvery is the interval in which an account's last use is stored.
	useEvery = time.Hour
	// maxUses is the maximum number of uses that wait to be stored. Further ones
	// are stored after the account's next use.
	maxUses = 20_000
	// usesTogether is the number of rows per statement.
	usesTogether = 200
)

// LastUse is the time of an account's last use. It is safe for concurrent use.
type LastUse struct{ ms atomic.Int64 }

// Set sets the stored time, or nil.
func (l *LastUse) Set(at *time.Time) {
	if at != nil {
		l.ms.Store(at.UnixMilli())
	}
}

// isDue reports whether the use is to be stored. It returns true for one of
// concurrent callers.
func (l *LastUse) isDue(now time.Time) bool {
	before := l.ms.Load()
	return now.UnixMilli()-before >= useEvery.Milliseconds() && l.ms.CompareAndSwap(before, now.UnixMilli())
}

// Uses collects when users' own accounts were used, so that requests don't
// write. It is safe for concurrent use.
type Uses struct {
	mu      sync.Mutex
	waiting map[ID]struct{}
}

// Note notes the use of an account, at most once an hour.
func (u *Uses) Note(id ID, last *LastUse, now time.Time) {
	if !last.isDue(now) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.waiting == nil {
		u.waiting = map[ID]struct{}{}
	}
	if len(u.waiting) < maxUses {
		u.waiting[id] = struct{}{}
	}
}

// Save stores the noted uses with the time. It doesn't change the versions of
// rows. The error is the database's; then the uses are lost until the next hour.
func (u *Uses) Save(ctx context.Context, db *gorm.DB, now time.Time) error {
	u.mu.Lock()
	waiting := make([][]any, 0, len(u.waiting))
	for id := range u.waiting {
		waiting = append(waiting, []any{id.ServerID, id.UserID})
	}
	u.waiting = nil
	u.mu.Unlock()
	for some := range slices.Chunk(waiting, usesTogether) {
		err := db.WithContext(ctx).Model(&models.PersonalConnection{}).
			Where("(server_id, user_id) IN ? AND (used_at IS NULL OR used_at < ?)", some, now).UpdateColumn("used_at", now).Error
		if err != nil {
			return err
		}
	}
	return nil
}
