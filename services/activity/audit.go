// Package activity remembers what was done: who changed what, and which calls
// were made.
package activity

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
)

// Entry is a change or a security event that is to be recorded.
type Entry struct {
	Action   string // "key.created", for instance
	Object   string // what was acted on, as people know it
	ObjectID string
	Project  string            // its slug, or empty
	Detail   map[string]string // never a secret
}

// Audit is the append-only log of changes and security events.
type Audit struct {
	db  *gorm.DB
	now func() time.Time
}

// NewAudit returns the log of the database.
func NewAudit(db *gorm.DB, now func() time.Time) *Audit { return &Audit{db: db, now: now} }

// Record adds a row within the writer's transaction, so that there is no change
// without its row and no row without its change. The actor is that of the
// transaction's context. Writers wait for each other from here until they
// commit: call it after the change and before its topics are touched.
func (a *Audit) Record(tx *gorm.DB, e Entry) error {
	var head models.AuditHead
	if err := tx.Clauses(models.LockRow(tx)...).First(&head, "id = 1").Error; err != nil {
		return err
	}
	actor := ActorOf(tx.Statement.Context)
	row := models.AuditEntry{
		Seq: head.Seq + 1, At: a.now(), PrevHash: head.Hash,
		ActorKind: string(actor.Kind), ActorID: clip(actor.ID), ActorName: clip(actor.Name), IP: clip(actor.IP), RequestID: clip(actor.RequestID),
		Action: clip(e.Action), Object: clip(e.Object), ObjectID: clip(e.ObjectID), Project: clip(e.Project), Detail: clipDetail(e.Detail),
	}
	row.Hash = chainHash(&row)
	if err := tx.Create(&row).Error; err != nil {
		return err
	}
	return tx.Model(&models.AuditHead{}).Where("id = 1").Updates(map[string]any{"seq": row.Seq, "hash": row.Hash}).Error
}

// chainHash returns the hash of a row: over the hash before it and every field,
// each with its length, so that no two rows have the same input.
func chainHash(row *models.AuditEntry) []byte {
	h := sha256.New()
	writeField(h, row.PrevHash)
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], uint64(row.Seq))
	writeField(h, number[:])
	writeField(h, []byte(row.At.UTC().Format(time.RFC3339Nano)))
	for _, field := range []string{row.ActorKind, row.ActorID, row.ActorName, row.IP, row.RequestID, row.Action, row.Object, row.ObjectID, row.Project} {
		writeField(h, []byte(field))
	}
	for _, name := range slices.Sorted(maps.Keys(row.Detail)) {
		writeField(h, []byte(name))
		writeField(h, []byte(row.Detail[name]))
	}
	return h.Sum(nil)
}

func writeField(h hash.Hash, field []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(field)))
	h.Write(length[:])
	h.Write(field)
}

// Bounds of what a row holds.
const (
	maxField   = 500 // characters
	maxDetails = 30
)

func clip(s string) string {
	if len(s) <= maxField {
		return s
	}
	if r := []rune(s); len(r) > maxField {
		return string(r[:maxField])
	}
	return s
}

func clipDetail(detail map[string]string) models.StringMap {
	out := models.StringMap{}
	for _, name := range slices.Sorted(maps.Keys(detail)) {
		if len(out) == maxDetails {
			break
		}
		out[clip(name)] = clip(detail[name])
	}
	return out
}
