package activity

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// What is kept of the arguments and answers of calls, in projects that record
// them.
const (
	// MaxPayload is how much is kept of each, in bytes.
	MaxPayload = 16 << 10
	// PayloadRetention is how long it is kept; the calls themselves stay longer.
	PayloadRetention = 3 * 24 * time.Hour

	// maxPayloadsWaiting bounds the memory of those that wait to be written, at
	// 32 KiB each. Beyond it calls are recorded without.
	maxPayloadsWaiting = 512
	payloadsPerWrite   = 100 // rows of one statement
)

// Payload returns what a call was about, or nil when that is not kept.
func (c *Calls) Payload(ctx context.Context, callID string) (*models.CallPayload, error) {
	var payload models.CallPayload
	err := c.db.WithContext(ctx).First(&payload, "call_id = ?", callID).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return nil, nil
	case err != nil:
		return nil, fault.Internal(err)
	}
	return &payload, nil
}

// admitPayload leaves the payload out of a call when too many wait.
func (c *Calls) admitPayload(call *models.Call) {
	if call.Payload == nil {
		return
	}
	if c.payloads.Add(1) > maxPayloadsWaiting {
		c.payloads.Add(-1)
		call.Payload = nil
	}
}

// storePayloads writes what calls were about. What is there already stays as it
// is.
func (c *Calls) storePayloads(ctx context.Context, calls []*models.Call) error {
	var payloads []*models.CallPayload
	for _, call := range calls {
		if p := call.Payload; p != nil {
			p.CallID, p.ProjectID, p.At = call.ID, call.ProjectID, call.At
			p.Arguments, p.Answer = storable(p.Arguments), storable(p.Answer)
			payloads = append(payloads, p)
		}
	}
	if len(payloads) == 0 {
		return nil
	}
	return c.db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).CreateInBatches(payloads, payloadsPerWrite).Error
}

// payloadsOf returns how many calls come with what they were about.
func payloadsOf(calls []*models.Call) (n int64) {
	for _, call := range calls {
		if call.Payload != nil {
			n++
		}
	}
	return n
}

// sweepPayloads removes what is too old, and what belongs to projects or calls
// that are gone.
func (c *Calls) sweepPayloads(ctx context.Context) error {
	if err := c.removePayloads(ctx, "at < ?", c.now().Add(-PayloadRetention)); err != nil {
		return err
	}
	if err := c.removePayloads(ctx, "project_id NOT IN (?)", c.db.Model(&models.Project{}).Select("id")); err != nil {
		return err
	}
	return c.removePayloads(ctx, "NOT EXISTS (?)", c.db.Model(&models.Call{}).Select("1").Where("calls.id = call_payloads.call_id"))
}

// removePayloads removes those that meet a condition, so many at a time.
func (c *Calls) removePayloads(ctx context.Context, condition string, value any) error {
	for {
		rows := c.db.Model(&models.CallPayload{}).Select("call_id").Where(condition, value).Limit(callsPerSweep)
		done := c.db.WithContext(ctx).Where("call_id IN (?)", rows).Delete(&models.CallPayload{})
		if done.Error != nil {
			return fault.Internal(done.Error)
		}
		if done.RowsAffected < callsPerSweep {
			return nil
		}
	}
}
