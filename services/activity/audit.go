// Package activity stores the audit log and the call log.
package activity

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gorm.io/gorm"

	"mcpgateway/models"
)

// Entry is a change or security event to record.
type Entry struct {
	Action   string // "key.created", for instance
	Object   string // display name of the changed object
	ObjectID string
	Project  string            // its slug, or empty
	Detail   map[string]string // never a secret
}

// Audit is the append-only log of changes and security events.
type Audit struct {
	db     *gorm.DB
	signer Signer // nil without MACs
	events Events // nil without an outbox
	now    func() time.Time
}

// Events stores the events of audit entries in their transaction. Implemented by
// outbox.Events.
type Events interface {
	AddAudited(tx *gorm.DB, entries []models.AuditEntry) error
	// Verified reports the result of a verification: the problem, or "".
	Verified(ctx context.Context, problem string) error
}

// UseEvents adds an event for every later entry. It must be called before the
// first one.
func (a *Audit) UseEvents(events Events) { a.events = events }

// NewAudit returns the audit log of the database, without MACs.
func NewAudit(db *gorm.DB, now func() time.Time) *Audit { return &Audit{db: db, now: now} }

// Limits of a row. Longer values are truncated.
const (
	MaxField  = 500 // characters of a field, of a detail's name and of its value
	MaxDetail = 30  // entries of Detail
)

// insertedAtOnce is the number of rows per INSERT.
const insertedAtOnce = 200

// Record adds a row in the writer's transaction, so that a change and its row
// are committed together. The actor is that of the transaction's context.
// Writers block each other from here to their commit: call it after the change
// and before touching its topics. It returns the database's error.
func (a *Audit) Record(tx *gorm.DB, e Entry) error { return a.RecordAll(tx, []Entry{e}) }

// RecordAll adds a row for each entry, in order, like Record. A transaction
// with several changes must call it once, after the last one: rows that it
// locks later could be held by a writer that waits for the log.
func (a *Audit) RecordAll(tx *gorm.DB, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	actor := ActorOf(tx.Statement.Context)
	tx = tx.Session(&gorm.Session{NewDB: true}) // drop the caller's conditions
	var head models.AuditHead
	if err := tx.Clauses(models.LockRow(tx)...).First(&head, "id = ?", headID).Error; err != nil {
		return err
	}
	// Both databases store milliseconds, and the hash covers the stored value.
	at := a.now().UTC().Truncate(time.Millisecond)
	rows := make([]models.AuditEntry, len(entries))
	for i, e := range entries {
		row := models.AuditEntry{
			Seq: head.Seq + 1, At: at, PrevHash: head.Hash,
			ActorKind: clip(string(actor.Kind)), ActorID: clip(actor.ID), ActorName: clip(actor.Name), IP: clip(actor.IP), RequestID: clip(actor.RequestID),
			Action: clip(e.Action), Object: clip(e.Object), ObjectID: clip(e.ObjectID), Project: clip(e.Project), Detail: clipDetail(e.Detail),
		}
		row.Hash = chainHash(&row)
		head.Seq, head.Hash = row.Seq, row.Hash
		if err := a.sign(&row, &head); err != nil {
			return err
		}
		rows[i] = row
	}
	if err := tx.CreateInBatches(rows, insertedAtOnce).Error; err != nil {
		return err
	}
	err := tx.Model(&models.AuditHead{}).Where("id = ?", headID).Updates(map[string]any{"seq": head.Seq, "hash": head.Hash, "key_id": head.KeyID, "mac": head.MAC}).Error
	if err != nil || a.events == nil {
		return err
	}
	return a.events.AddAudited(tx, rows)
}

// clip returns s as both databases can store it, with at most MaxField
// characters: valid UTF-8 without NUL, because the hash covers the stored
// value.
func clip(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
	if utf8.RuneCountInString(s) <= MaxField {
		return s
	}
	return string([]rune(s)[:MaxField-1]) + "…"
}

func clipDetail(detail map[string]string) models.StringMap {
	out := models.StringMap{}
	for _, name := range slices.Sorted(maps.Keys(detail)) {
		if len(out) == MaxDetail {
			break
		}
		out[clip(name)] = clip(detail[name])
	}
	return out
}
