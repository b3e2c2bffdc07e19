package tasks

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Store stores the tasks of clients in the database. It is safe for concurrent
// use.
type Store struct {
	db  *gorm.DB
	now func() time.Time
}

// NewStore returns the tasks in db.
func NewStore(db *gorm.DB, now func() time.Time) *Store { return &Store{db: db, now: now} }

// Open implements Rows.
func (s *Store) Open(ctx context.Context, projectID string) (map[string]int, error) {
	var counts []struct {
		Principal string
		N         int
	}
	err := s.db.WithContext(ctx).Model(&models.UpstreamTask{}).Select("principal, COUNT(*) AS n").
		Where("project_id = ? AND open = ? AND expires_at > ?", projectID, true, s.now()).Group("principal").Find(&counts).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	open := make(map[string]int, len(counts))
	for _, c := range counts {
		open[c.Principal] = c.N
	}
	return open, nil
}

// Create implements Rows. It returns a database error as an INTERNAL fault.
func (s *Store) Create(ctx context.Context, row models.UpstreamTask) error {
	// A client that disconnected may still hold the handle.
	ctx = context.WithoutCancel(ctx)
	if err := s.db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
		return fault.Internal(err)
	}
	return nil
}

// Update implements Rows. An empty state stays, and a state of an open task does not
// replace that of one that has ended: states can arrive out of order. It returns a database error as an
// INTERNAL fault.
func (s *Store) Update(ctx context.Context, id, state string, open bool) (wasOpen bool, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		values := map[string]any{"updated_at": s.now()}
		if state != "" {
			values["state"] = state
		}
		if !open {
			closed := tx.Model(&models.UpstreamTask{}).Where("id = ? AND open = ?", id, true).Update("open", false)
			if closed.Error != nil {
				return closed.Error
			}
			wasOpen = closed.RowsAffected > 0
		}
		row := tx.Model(&models.UpstreamTask{}).Where("id = ?", id)
		if open {
			row = row.Where("open = ?", true)
		}
		return row.Updates(values).Error
	})
	if err != nil {
		return false, fault.Internal(err)
	}
	return wasOpen, nil
}

// Position is the place of a task in the list of its owner. The zero Position is
// before the first one.
type Position struct {
	At time.Time
	ID string
}

// List implements Rows. It returns a database error as an INTERNAL fault.
func (s *Store) List(ctx context.Context, owner Owner, after Position, n int) ([]models.UpstreamTask, error) {
	query := s.db.WithContext(ctx).Where("project_id = ? AND principal = ? AND expires_at > ?", owner.Project, owner.Principal, s.now())
	if after.ID != "" {
		query = query.Where("created_at < ? OR created_at = ? AND id > ?", after.At, after.At, after.ID)
	}
	var rows []models.UpstreamTask
	if err := query.Order("created_at DESC, id").Limit(n).Find(&rows).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// Sweep deletes the tasks that have expired. It returns a database error as an
// INTERNAL fault.
func (s *Store) Sweep(ctx context.Context) error {
	if err := s.db.WithContext(ctx).Where("expires_at <= ?", s.now()).Delete(&models.UpstreamTask{}).Error; err != nil {
		return fault.Internal(err)
	}
	return nil
}
