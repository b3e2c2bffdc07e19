package activity

import (
	"context"
	"errors"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Limits of recorded arguments and results.
const (
	// MaxPayload is the maximum size of each, in bytes.
	MaxPayload = 16 << 10

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
