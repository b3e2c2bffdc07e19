package destinations

import (
	"context"
	"strconv"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/outbox"
)

// maxCounted is the maximum number of waiting events that State reads.
const maxCounted = 1000

// State has the numbers of waiting and undelivered events of a destination.
type State struct {
	Waiting     int  // events that match its filter
	WaitingMore bool // there are more than Waiting
	Dead        int64
}

// State returns what waits for a destination.
func (s *Store) State(ctx context.Context, row *models.Destination) (State, error) {
	var state State
	filter, err := outbox.ParseFilter(row.Filter)
	if err != nil {
		return state, err
	}
	db := s.DB.WithContext(ctx)
	if row.Active {
		var waiting []models.OutboxEvent
		if err := db.Order("seq").Limit(maxCounted+1).Find(&waiting, "seq > ?", row.Position).Error; err != nil {
			return state, fault.Internal(err)
		}
		state.WaitingMore = len(waiting) > maxCounted
		for i := range waiting[:min(len(waiting), maxCounted)] {
			if filter.Matches(&waiting[i]) {
				state.Waiting++
			}
		}
	}
	if err := db.Model(&models.DeadLetter{}).Where("destination_id = ?", row.ID).Count(&state.Dead).Error; err != nil {
		return state, fault.Internal(err)
	}
	return state, nil
}

// DeadLetters returns at most limit dead letters of a destination, oldest first.
func (s *Store) DeadLetters(ctx context.Context, id string, limit int) ([]models.DeadLetter, error) {
	var rows []models.DeadLetter
	if err := s.DB.WithContext(ctx).Order("seq").Limit(limit).Find(&rows, "destination_id = ?", id).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// Retry clears the wait before the next attempt of a destination, and queues its dead letter
// with the ID, or all of them for an empty one, to be sent again. It returns their
// number and audits destination.retried. Faults: NOT_FOUND, and CONFLICT for a
// destination that is off.
func (s *Store) Retry(ctx context.Context, id, letter string) (queued int64, err error) {
	err = s.change(ctx, func(tx *gorm.DB) error {
		row, err := get(tx, id)
		if err != nil {
			return err
		}
		if !row.Active {
			return fault.Conflict("%s is off. Turn it on first.", row.Name)
		}
		dead := tx.Model(&models.DeadLetter{}).Where("destination_id = ?", id)
		if letter != "" {
			dead = dead.Where("id = ?", letter)
		}
		done := dead.Update("again_at", s.Now())
		if done.Error != nil {
			return done.Error
		}
		if letter != "" && done.RowsAffected == 0 {
			return fault.NotFound("undelivered event", clip(letter))
		}
		queued = done.RowsAffected
		if err := tx.Model(&models.Destination{}).Where("id = ?", id).Update("next_at", nil).Error; err != nil {
			return err
		}
		return s.record(tx, "destination.retried", &row, map[string]string{"events": strconv.FormatInt(queued, 10)})
	})
	return queued, err
}

// RetryNow clears the wait before the next attempt of a destination and audits
// destination.retried. It returns NOT_FOUND.
func (s *Store) RetryNow(ctx context.Context, id string) error {
	return s.change(ctx, func(tx *gorm.DB) error {
		row, err := get(tx, id)
		if err != nil {
			return err
		}
		if err := tx.Model(&models.Destination{}).Where("id = ?", id).Update("next_at", nil).Error; err != nil {
			return err
		}
		return s.record(tx, "destination.retried", &row, map[string]string{"events": "0"})
	})
}

// Condition is the condition of a destination.
type Condition string

// The conditions of destinations.
const (
	Off     Condition = "off"
	Unused  Condition = "unused" // nothing was sent yet
	Working Condition = "working"
	Failing Condition = "failing" // the last attempt failed
)

// ConditionOf returns the condition of a destination.
func ConditionOf(row *models.Destination) Condition {
	switch {
	case !row.Active:
		return Off
	case row.Failures > 0:
		return Failing
	case row.LastAt == nil:
		return Unused
	}
	return Working
}
