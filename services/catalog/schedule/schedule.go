// Package schedule syncs the sources of the catalog regularly. One replica at a
// time runs it.
package schedule

import (
	"context"
	"log/slog"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/importer"
)

// pollInterval is the interval between checks for due sources.
const pollInterval = time.Minute

// Syncer syncs a source. Implemented by catalog.Store.
type Syncer interface {
	SyncSource(ctx context.Context, id string, run catalog.Run) (importer.Plan, error)
}

// Schedule syncs sources when they are due.
type Schedule struct {
	db   *gorm.DB
	sync Syncer
	now  func() time.Time
	log  *slog.Logger
}

// New returns the schedule of the sources in db.
func New(db *gorm.DB, sync Syncer, now func() time.Time, log *slog.Logger) *Schedule {
	return &Schedule{db: db, sync: sync, now: now, log: log}
}

// interval returns the time between two syncs, or 0 for none.
func interval(s models.CatalogSchedule) time.Duration {
	switch s {
	case models.ScheduleHourly:
		return time.Hour
	case models.ScheduleDaily:
		return 24 * time.Hour
	case models.ScheduleWeekly:
		return 7 * 24 * time.Hour
	}
	return 0
}

// Next returns the time of the next scheduled sync of a source: one interval after
// the start of its last sync of any kind, or after it was added. It returns nil for
// a source that is not synced on a schedule.
func Next(s *models.CatalogSource) *time.Time {
	every := interval(s.Schedule)
	if every == 0 || !s.Enabled || s.URL == "" {
		return nil
	}
	last := s.CreatedAt
	if s.StartedAt != nil {
		last = *s.StartedAt
	}
	next := last.Add(every)
	return &next
}

// Run syncs due sources until the context ends.
func (s *Schedule) Run(ctx context.Context) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.RunDue(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "scheduled catalog syncs failed", "error", err)
		}
	}
}

// RunDue syncs the sources that are due, one after another. A failed sync is
// recorded in its source and doesn't affect the others. RunDue returns errors of
// the database.
func (s *Schedule) RunDue(ctx context.Context) error {
	var rows []models.CatalogSource
	if err := s.db.WithContext(ctx).Order("created_at, id").Find(&rows, "enabled = ? AND schedule <> ?", true, models.ScheduleOff).Error; err != nil {
		return err
	}
	for i := range rows {
		next := Next(&rows[i])
		if next == nil || s.now().Before(*next) || ctx.Err() != nil {
			continue
		}
		claimed, err := s.claim(ctx, &rows[i])
		if err != nil {
			return err
		}
		if !claimed {
			continue
		}
		switch plan, err := s.sync.SyncSource(ctx, rows[i].ID, catalog.Run{}); {
		case err != nil:
			s.log.WarnContext(ctx, "catalog source not synced", "source", rows[i].Name, "error", err)
		case plan.Held:
			s.log.WarnContext(ctx, "catalog sync waits for approval", "source", rows[i].Name, "removals", plan.Deleted, "rows", plan.Had)
		}
	}
	return nil
}

// claim records the start of a sync, so that another process that also found the
// source due doesn't sync it again. It reports whether this process is the first.
func (s *Schedule) claim(ctx context.Context, row *models.CatalogSource) (bool, error) {
	now := s.now()
	claim := s.db.WithContext(ctx).Model(&models.CatalogSource{}).
		Where("id = ? AND coalesce(started_at, created_at) <= ?", row.ID, now.Add(-interval(row.Schedule))).Update("started_at", now)
	return claim.RowsAffected == 1, claim.Error
}
