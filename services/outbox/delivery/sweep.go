package delivery

import (
	"context"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Limits of stored events.
const (
	// MaxWaiting is the maximum number of waiting events. Beyond it the oldest
	// are dropped, except audit entries.
	MaxWaiting = 100_000
	// MaxDead is the maximum number of dead letters of a destination. Beyond it
	// the oldest are dropped.
	MaxDead = 10_000
	// DeadTime is the maximum age of dead letters.
	DeadTime = 30 * 24 * time.Hour

	// SweepInterval is the interval between sweeps.
	SweepInterval = time.Minute
)

// Sweep deletes events that every active destination has passed, and those beyond
// the limits, which it counts. It returns a database error as an INTERNAL fault.
func (d *Deliveries) Sweep(ctx context.Context) error {
	if err := d.sweep(ctx, MaxWaiting, MaxDead); err != nil {
		return fault.Internal(err)
	}
	return nil
}

func (d *Deliveries) sweep(ctx context.Context, maxWaiting, maxDead int64) error {
	db := d.db.WithContext(ctx)
	// One statement, so that no event of a new destination is deleted.
	err := db.Exec(`DELETE FROM outbox WHERE seq <= COALESCE((SELECT min(position) FROM destinations WHERE active), (SELECT max(seq) FROM outbox))`).Error
	if err != nil {
		return err
	}
	var count int64
	if err := db.Model(&models.OutboxEvent{}).Count(&count).Error; err != nil {
		return err
	}
	if count > maxWaiting {
		done := db.Exec(`DELETE FROM outbox WHERE seq IN (SELECT seq FROM outbox WHERE NOT audit ORDER BY seq LIMIT ?)`, count-maxWaiting)
		if done.Error != nil {
			return done.Error
		}
		d.dropped.Add(done.RowsAffected)
		d.log.Warn("waiting events dropped", "events", done.RowsAffected)
	}
	return d.sweepDead(ctx, maxDead)
}

func (d *Deliveries) sweepDead(ctx context.Context, maxDead int64) error {
	db := d.db.WithContext(ctx)
	done := db.Delete(&models.DeadLetter{}, "died_at < ?", d.now().Add(-DeadTime))
	if done.Error != nil {
		return done.Error
	}
	d.dropped.Add(done.RowsAffected)
	var full []struct {
		DestinationID string
		Letters       int64
	}
	err := db.Model(&models.DeadLetter{}).Select("destination_id, count(*) AS letters").Group("destination_id").Having("count(*) > ?", maxDead).Find(&full).Error
	if err != nil {
		return err
	}
	for _, f := range full {
		done := db.Exec(`DELETE FROM dead_letters WHERE id IN (SELECT id FROM dead_letters WHERE destination_id = ? ORDER BY seq LIMIT ?)`, f.DestinationID, f.Letters-maxDead)
		if done.Error != nil {
			return done.Error
		}
		d.dropped.Add(done.RowsAffected)
	}
	return nil
}
