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

// Limits of recorded arguments and results.
const (
	// MaxPayload is the maximum size of each, in bytes.
	MaxPayload = 16 << 10
	// PayloadRetention is the maximum age of payloads, which is below that of
	// calls.
	PayloadRetention = 3 * 24 * time.Hour

	// maxPayloadsWaiting limits the memory of queued payloads, of up to 32 KiB
	// each. Beyond it, calls are recorded without payload.
	maxPayloadsWaiting = 512
	payloadsPerWrite   = 100 // rows per statement
)

// Payload returns the payload of a call, or nil if it is not stored.
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

// admitPayload drops a call's payload if too many are queued.
func (c *Calls) admitPayload(call *models.Call) {
	if call.Payload == nil {
		return
	}
	if c.payloads.Add(1) > maxPayloadsWaiting {
		c.payloads.Add(-1)
		call.Payload = nil
	}
}

// storePayloads writes payloads. Existing ones are unchanged.
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

// payloadsOf returns the number of calls with a payload.
func payloadsOf(calls []*models.Call) (n int64) {
	for _, call := range calls {
		if call.Payload != nil {
			n++
		}
	}
	return n
}

// sweepPayloads deletes payloads that are too old or whose project or call was
// deleted.
func (c *Calls) sweepPayloads(ctx context.Context) error {
	if err := c.removePayloads(ctx, "at < ?", c.now().Add(-PayloadRetention)); err != nil {
		return err
	}
	if err := c.removePayloads(ctx, "project_id NOT IN (?)", c.db.Model(&models.Project{}).Select("id")); err != nil {
		return err
	}
	return c.removePayloads(ctx, "NOT EXISTS (?)", c.db.Model(&models.Call{}).Select("1").Where("calls.id = call_payloads.call_id"))
}

// removePayloads deletes payloads that match a condition, in batches.
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
