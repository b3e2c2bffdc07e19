package outbox

import (
	"context"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// insertedAtOnce is the number of rows per INSERT.
const insertedAtOnce = 200

// Events stores events. It is safe for concurrent use.
type Events struct {
	db  *gorm.DB
	now func() time.Time
}

// New returns the events of the database. now returns UTC in milliseconds.
func New(db *gorm.DB, now func() time.Time) *Events { return &Events{db: db, now: now} }

// Add stores events in the writer's transaction, in order, so that a change and
// its events are committed together. Without an active destination it only reads.
// Writers of events and of audit entries block each other from here to their
// commit: call it after the change and before touching its topics. It returns an
// error for an event that is too large or can't be encoded, and the database's.
func (e *Events) Add(tx *gorm.DB, events ...Event) error {
	tx = tx.Session(&gorm.Session{NewDB: true}) // drop the caller's conditions
	if needed, err := hasDestination(tx, len(events)); err != nil || !needed {
		return err
	}
	rows := make([]models.OutboxEvent, len(events))
	for i, event := range events {
		row, err := event.row(e.now())
		if err != nil {
			return err
		}
		rows[i] = row
	}
	return store(tx, rows)
}

// AddNow stores events like Add, in a separate transaction. It returns an
// INTERNAL fault if it can't.
func (e *Events) AddNow(ctx context.Context, events ...Event) error {
	err := e.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return e.Add(tx, events...) })
	if err != nil {
		return fault.From(err)
	}
	return nil
}

// Change stores an event in the writer's transaction if it changes the state of
// the subject, like Add. It returns whether it does: of all replicas that report
// the same change, one gets true. The first state of a subject is compared with
// initial. The states of subjects are stored with and without a destination.
func (e *Events) Change(tx *gorm.DB, subject, initial, state string, event Event) (changed bool, err error) {
	tx = tx.Session(&gorm.Session{NewDB: true})
	if state == initial {
		done := tx.Model(&models.OutboxState{}).Where("subject = ? AND state <> ?", subject, state).Updates(map[string]any{"state": state, "at": e.now()})
		changed, err = done.RowsAffected > 0, done.Error
	} else {
		done := tx.Exec(`INSERT INTO outbox_states (subject, state, at) VALUES (?, ?, ?)
			ON CONFLICT (subject) DO UPDATE SET state = excluded.state, at = excluded.at WHERE outbox_states.state <> excluded.state`, subject, state, e.now())
		changed, err = done.RowsAffected > 0, done.Error
	}
	if err != nil || !changed {
		return false, err
	}
	return true, e.Add(tx, event)
}

// ChangeNow is Change in a separate transaction. It returns an INTERNAL fault
// if the database fails.
func (e *Events) ChangeNow(ctx context.Context, subject, initial, state string, event Event) (changed bool, err error) {
	err = e.db.WithContext(ctx).Transaction(func(tx *gorm.DB) (err error) {
		changed, err = e.Change(tx, subject, initial, state, event)
		return err
	})
	if err != nil {
		return false, fault.From(err)
	}
	return changed, nil
}

// AddAudited stores the events of audit entries in their transaction, which holds
// the lock of the audit log.
func (e *Events) AddAudited(tx *gorm.DB, entries []models.AuditEntry) error {
	tx = tx.Session(&gorm.Session{NewDB: true})
	if needed, err := hasDestination(tx, len(entries)); err != nil || !needed {
		return err
	}
	rows := make([]models.OutboxEvent, len(entries))
	for i := range entries {
		row, err := auditRow(&entries[i])
		if err != nil {
			return err
		}
		rows[i] = row
	}
	return store(tx, rows)
}

// auditChain is the subject of events about the verification of the audit log.
const auditChain = "audit chain"

// Verified raises audit.chain_broken for the problem of a verification of the audit
// log, once until another problem is found or none. It returns an INTERNAL fault
// if it can't.
func (e *Events) Verified(ctx context.Context, problem string) error {
	if problem != "" {
		_, err := e.ChangeNow(ctx, auditChain, "", problem, Event{Kind: AuditChainBroken, Data: map[string]string{"message": "the audit log was changed outside the gateway", "reason": problem}})
		return err
	}
	if err := e.db.WithContext(ctx).Delete(&models.OutboxState{}, "subject = ?", auditChain).Error; err != nil {
		return fault.Internal(err)
	}
	return nil
}

// hasDestination reports whether there are events and an active destination for them. A
// destination that is created later begins after them.
func hasDestination(tx *gorm.DB, events int) (bool, error) {
	if events == 0 {
		return false, nil
	}
	var found []string
	err := tx.Model(&models.Destination{}).Where("active").Limit(1).Pluck("id", &found).Error
	return len(found) > 0, err
}

// store inserts rows. Their numbers are in the order of the commits, because the
// lock is held until then: no reader sees a number before a lower one.
func store(tx *gorm.DB, rows []models.OutboxEvent) error {
	if err := Lock(tx); err != nil {
		return err
	}
	return tx.CreateInBatches(rows, insertedAtOnce).Error
}

// Lock waits for the other writers of events and excludes them until the
// transaction ends. It is the lock of the audit log, so that there is one order
// of locks.
func Lock(tx *gorm.DB) error {
	return tx.Clauses(models.LockRow(tx)...).Select("id").First(&models.AuditHead{}).Error
}

// Last returns the number of the newest event, or 0. The caller must hold Lock.
func Last(tx *gorm.DB) (int64, error) {
	var last *int64
	err := tx.Model(&models.OutboxEvent{}).Select("max(seq)").Scan(&last).Error
	if err != nil || last == nil {
		return 0, err
	}
	return *last, nil
}
