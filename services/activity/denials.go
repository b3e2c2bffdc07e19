package activity

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"gorm.io/gorm"
)

// Bounds of the rows about refused requests: who tries again and again fills
// neither the audit log nor the memory.
const (
	DenialInterval = time.Minute // between two rows of one actor and route
	maxDenials     = 1_000       // actors and routes that are remembered
)

// Denials records requests that were refused to somebody who is known. It is
// safe for concurrent use.
type Denials struct {
	db    *gorm.DB
	audit *Audit
	now   func() time.Time
	log   *slog.Logger

	mu    sync.Mutex
	since time.Time // when the present interval began
	seen  map[[2]string]bool
}

// NewDenials returns a recorder that adds to the audit log.
func NewDenials(db *gorm.DB, audit *Audit, now func() time.Time, log *slog.Logger) *Denials {
	return &Denials{db: db, audit: audit, now: now, log: log, seen: map[[2]string]bool{}}
}

// Record adds the row access.denied, at most one per actor and route in an
// interval. route is the method and pattern of the URL, role that of the actor
// of the context. A failure of the database is logged, since the request is
// refused whether or not that can be written down.
func (d *Denials) Record(ctx context.Context, route, role string) {
	if !d.isNews(ActorOf(ctx).ID, route) {
		return
	}
	err := d.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		return d.audit.Record(tx, Entry{Action: "access.denied", Object: route, Detail: map[string]string{"role": role}})
	})
	if err != nil {
		d.log.WarnContext(ctx, "a refused request is missing from the audit log", "route", route, "error", err)
	}
}

func (d *Denials) isNews(actor, route string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.now(); now.Sub(d.since) >= DenialInterval {
		d.since = now
		clear(d.seen)
	}
	key := [2]string{actor, route}
	if d.seen[key] || len(d.seen) >= maxDenials {
		return false
	}
	d.seen[key] = true
	return true
}
