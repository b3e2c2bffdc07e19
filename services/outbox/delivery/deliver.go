package delivery

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/outbox"
)

// Limits of deliveries.
const (
	firstRetry = 10 * time.Second // after a failed attempt; doubles
	lastRetry  = time.Hour        // and up to
	retryTime  = 24 * time.Hour   // then an event is a dead letter

	pollInterval  = time.Second // between looks for new events
	readAtOnce    = 100         // events
	saveInterval  = time.Second // between stores of the position while events are delivered
	countInterval = 10 * time.Second
)

// errGone ends the delivery to a destination that was deleted or turned off.
var errGone = errors.New("destination is gone")

// worker delivers the events of one destination. Only the process that holds the
// destination's lock runs it.
type worker struct {
	*Deliveries
	id      string
	row     models.Destination
	changed bool // row has the outcome of an attempt that is not stored
	savedAt time.Time
	counted time.Time // of the last count of waiting events
}

// step sends what is due and returns the time until the next step.
// It returns errGone for a destination that is deleted or off, and database errors.
func (w *worker) step(ctx context.Context) (time.Duration, error) {
	db := w.db.WithContext(ctx)
	var found []models.Destination
	if err := db.Limit(1).Find(&found, "id = ?", w.id).Error; err != nil {
		return pollInterval, err
	}
	if len(found) == 0 || !found[0].Active {
		return 0, errGone
	}
	w.row, w.changed, w.savedAt = found[0], false, w.now()
	if wait := untilNext(&w.row, w.now()); wait > 0 {
		return min(wait, pollInterval), nil
	}
	filter, err := outbox.ParseFilter(w.row.Filter)
	if err != nil {
		return pollInterval, err
	}
	if more, err := w.again(ctx); err != nil || more {
		return 0, err
	}
	var events []models.OutboxEvent
	if err := db.Order("seq").Limit(readAtOnce).Find(&events, "seq > ?", w.row.Position).Error; err != nil {
		return pollInterval, err
	}
	if err := w.deliver(ctx, filter, events); err != nil {
		return pollInterval, err
	}
	if len(events) == readAtOnce && w.row.NextAt == nil || len(events) > 0 && w.row.NextAt == nil && w.row.Failures > 0 {
		return 0, nil // there may be more; after a dead letter the next event is due
	}
	return pollInterval, nil
}

// untilNext returns the time until the next attempt of a destination is due.
func untilNext(row *models.Destination, now time.Time) time.Duration {
	if row.NextAt == nil {
		return 0
	}
	return row.NextAt.Sub(now)
}

// deliver sends events in order until one fails, and stores how far it came.
func (w *worker) deliver(ctx context.Context, filter *outbox.Filter, events []models.OutboxEvent) error {
	reached := w.row.Position
	for len(events) > 0 {
		var matching []models.OutboxEvent
		size, n := 0, 0
		for n < len(events) && len(matching) < batch(w.row.Kind) && (size == 0 || size+len(events[n].Body) <= maxBatchBytes) {
			if filter.Matches(&events[n]) {
				matching, size = append(matching, events[n]), size+len(events[n].Body)
			}
			n++
		}
		if len(matching) > 0 {
			reply := w.sender.Send(ctx, &w.row, matching)
			if ctx.Err() != nil {
				return w.stop(ctx, reached) // the outcome is unknown: the next owner repeats it
			}
			if reply.Err != nil {
				return w.failed(ctx, reached, matching, reply)
			}
			w.delivered.Add(int64(len(matching)))
			w.succeeded(len(matching), reply)
		}
		reached, events = events[n-1].Seq, events[n:]
		if w.now().Sub(w.savedAt) >= saveInterval {
			if err := w.save(ctx, reached); err != nil {
				return err
			}
		}
	}
	return w.save(ctx, reached)
}

// stop stores how far deliveries came when they are interrupted.
func (w *worker) stop(ctx context.Context, reached int64) error {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), pollInterval)
	defer cancel()
	if err := w.save(last, reached); err != nil {
		return err
	}
	return ctx.Err()
}

// succeeded notes a delivery in the row.
func (w *worker) succeeded(events int, reply Reply) {
	w.row.Delivered += int64(events)
	w.row.Failures, w.row.FailingSince, w.row.NextAt = 0, nil, nil
	w.attempted(reply)
}

// attempted notes the outcome of an attempt in the row.
func (w *worker) attempted(reply Reply) {
	now := w.now()
	w.changed = true
	w.row.LastAt, w.row.LastStatus, w.row.LastReply = &now, int64(reply.Status), reply.Text
}

// failed stores a failed attempt. Its first event is a dead letter after retryTime
// of failures, and at least that long after it was raised; a new owner or a
// restart doesn't change that. Until then, it holds the later events.
func (w *worker) failed(ctx context.Context, reached int64, events []models.OutboxEvent, reply Reply) error {
	w.failures.Add(1)
	now, head := w.now(), &events[0]
	w.row.Failures++
	w.attempted(reply)
	if w.row.FailingSince == nil {
		w.row.FailingSince = &now
	}
	since := *w.row.FailingSince
	if head.At.After(since) {
		since = head.At
	}
	if now.Sub(since) < retryTime {
		next := now.Add(retryAfter(w.row.Failures))
		w.row.NextAt = &next
		return w.save(ctx, reached)
	}
	w.dead.Add(1)
	w.row.NextAt = nil
	return w.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		letter := models.DeadLetter{
			ID: uuid.Must(uuid.NewV7()).String(), DestinationID: w.id, Seq: head.Seq, EventID: head.ID, Kind: head.Kind, Project: head.Project,
			At: head.At, Audit: head.Audit, Body: head.Body, DiedAt: now, Reason: statusText(reply),
		}
		if err := w.saveIn(tx, head.Seq); err != nil {
			return err
		}
		return tx.Create(&letter).Error
	})
}

// retryAfter returns the time until the next attempt after a number of failures.
func retryAfter(failures int64) time.Duration {
	wait := firstRetry
	for range failures - 1 {
		if wait *= 2; wait >= lastRetry {
			return lastRetry
		}
	}
	return wait
}

// again sends the oldest dead letter that is queued to be sent again. It reports
// whether there was one. One that fails stays a dead letter.
func (w *worker) again(ctx context.Context) (more bool, err error) {
	var queued []models.DeadLetter
	db := w.db.WithContext(ctx)
	if err := db.Order("seq").Limit(1).Find(&queued, "destination_id = ? AND again_at IS NOT NULL", w.id).Error; err != nil || len(queued) == 0 {
		return false, err
	}
	l := &queued[0]
	reply := w.sender.Send(ctx, &w.row, []models.OutboxEvent{{Seq: l.Seq, ID: l.EventID, Kind: l.Kind, Project: l.Project, At: l.At, Audit: l.Audit, Body: l.Body}})
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if reply.Err != nil {
		w.failures.Add(1)
		w.attempted(reply)
		if err := db.Model(l).Updates(map[string]any{"again_at": nil, "reason": statusText(reply)}).Error; err != nil {
			return false, err
		}
		return true, w.save(ctx, w.row.Position)
	}
	w.delivered.Add(1)
	w.succeeded(1, reply)
	if err := db.Delete(l).Error; err != nil {
		return false, err
	}
	return true, w.save(ctx, w.row.Position)
}

// save stores the state of deliveries after the event with the number reached.
func (w *worker) save(ctx context.Context, reached int64) error {
	if reached == w.row.Position && !w.changed {
		return nil
	}
	return w.saveIn(w.db.WithContext(ctx), reached)
}

// saveIn is save in a transaction. It returns errGone if an administrator turned
// the destination off, or off and on, in the meantime.
func (w *worker) saveIn(tx *gorm.DB, reached int64) error {
	done := tx.Model(&models.Destination{}).Where("id = ? AND active AND position = ?", w.id, w.row.Position).UpdateColumns(map[string]any{
		"position": reached, "delivered": w.row.Delivered, "failures": w.row.Failures, "failing_since": w.row.FailingSince, "next_at": w.row.NextAt,
		"last_at": w.row.LastAt, "last_status": w.row.LastStatus, "last_reply": w.row.LastReply,
	})
	if done.Error != nil {
		return done.Error
	}
	if done.RowsAffected == 0 {
		return errGone
	}
	w.row.Position, w.changed, w.savedAt = reached, false, w.now()
	return nil
}
