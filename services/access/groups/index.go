package groups

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/notify"
)

// Index holds the members of all groups in memory. A change applies once the
// change feed delivers it; in the process that made it, before the change
// returns. It is safe for concurrent use.
type Index struct {
	db          *gorm.DB
	memberships *Memberships
	now         func() time.Time
	reading     sync.Mutex // an older read must not replace a newer one
	view        atomic.Pointer[View]
}

// NewIndex returns an empty index. Load must be called before use.
func NewIndex(db *gorm.DB, memberships *Memberships, now func() time.Time) *Index {
	x := &Index{db: db, memberships: memberships, now: now}
	x.view.Store(&View{})
	return x
}

// Load reads the members of all groups from the database.
func (x *Index) Load(ctx context.Context) error {
	x.reading.Lock()
	defer x.reading.Unlock()
	view, err := x.memberships.Load(ctx, x.db)
	if err == nil {
		x.view.Store(&view)
	}
	return err
}

// Changed reloads the members if users changed. It ignores other topics.
func (x *Index) Changed(ctx context.Context, topic notify.Topic) error {
	if !topic.IsPeople() {
		return nil
	}
	return x.Load(ctx)
}

// Of returns the sorted IDs of the groups that count for a user now, and the
// highest of the user's own role and the groups' roles.
func (x *Index) Of(userID string, own models.Role) (ids []string, role models.Role) {
	view, now := x.view.Load(), x.now()
	return view.Groups(userID, now), view.Role(userID, own, now)
}

// expiryInterval is the interval of looking for expired memberships.
const expiryInterval = time.Second

// Run calls expired when memberships by a claim have expired, at most
// expiryInterval later, until ctx ends.
func (x *Index) Run(ctx context.Context, expired func()) {
	tick := time.NewTicker(expiryInterval)
	defer tick.Stop()
	for last := x.now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := x.now()
		if x.view.Load().Expires(last, now) {
			expired()
		}
		last = now
	}
}
