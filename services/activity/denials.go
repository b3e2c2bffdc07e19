package activity

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"gorm.io/gorm"
)

// Limits of access.denied rows, so that repeated attempts fill neither the
// audit log nor memory.
const (
	DenialInterval = time.Minute // between rows of one actor and route
	maxDenials     = 1_000       // pairs of actor and route in memory
)

// Denials records rejected requests of authenticated users. It is safe for
// concurrent use.
type Denials struct {
	db    *gorm.DB
	audit *Audit
	now   func() time.Time
	log   *slog.Logger

	mu    sync.Mutex
	since time.Time // start of the current interval
	seen  map[[2]string]bool
}

// NewDenials returns a Denials that writes to the audit log.
func NewDenials(db *gorm.DB, audit *Audit, now func() time.Time, log *slog.Logger) *Denials {
	return &Denials{db: db, audit: audit, now: now, log: log, seen: map[[2]string]bool{}}
}

// Record adds the row access.denied, at most one per actor and route in an
// interval. route is the method and URL pattern, role is the actor's. A
// database failure is logged, because the request is rejected in any case.
func (d *Denials) Record(ctx context.Context, route, role string) {
	if !d.firstInInterval(ActorOf(ctx).ID, route) {
		return
	}
	err := d.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		return d.audit.Record(tx, Entry{Action: "access.denied", Object: route, Detail: map[string]string{"role": role}})
	})
	if err != nil {
		d.log.WarnContext(ctx, "denied request not recorded", "route", route, "error", err)
	}
}

func (d *Denials) firstInInterval(actor, route string) bool {
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
