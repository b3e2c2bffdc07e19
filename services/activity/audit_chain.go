package activity

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// headID is the id of the one row that knows the end of the log.
const headID = 1

// verifiedAtOnce is how many rows Verify holds in memory.
const verifiedAtOnce = 1000

// Verification is the result of Verify: the number of rows, of those with a code of
// a key, and the hash of the last one in hexadecimal, which is empty before the
// first. The first row with a code vouches for all rows before it. Two verifications
// with the same count have the same head unless somebody rewrote the log, so
// that a head that is kept elsewhere proves even that.
type Verification struct {
	Count int64
	Keyed int64
	Head  string
}

// ErrBroken is wrapped by the error of Verify when the log was changed.
var ErrBroken = errors.New("the audit log was changed")

// Verify reads the whole log as it is at one moment, in pages, and checks that
// no row was edited, removed, added or moved. Its error wraps ErrBroken and
// names the first row that is wrong, or is an INTERNAL fault when the log
// cannot be read.
func (a *Audit) Verify(ctx context.Context) (Verification, error) {
	var found Verification
	err := a.db.WithContext(ctx).Transaction(func(tx *gorm.DB) (err error) {
		found, err = a.verify(tx)
		return err
	}, models.ConsistentRead(a.db))
	if err != nil && !errors.Is(err, ErrBroken) {
		err = fault.From(err)
	}
	return found, err
}

// verify is Verify within a transaction.
func (a *Audit) verify(tx *gorm.DB) (found Verification, err error) {
	var last models.AuditEntry
	for {
		var rows []models.AuditEntry
		if err := tx.Order("seq").Limit(verifiedAtOnce).Find(&rows, "seq > ?", last.Seq).Error; err != nil {
			return found, fault.Internal(err)
		}
		for i := range rows {
			why := follows(&last, &rows[i])
			if why == "" {
				if why, err = a.misses(&last, &rows[i]); err != nil {
					return found, err
				}
			}
			if why != "" {
				return found, fmt.Errorf("%w: row %d %s", ErrBroken, last.Seq+1, why)
			}
			last = rows[i]
			if last.KeyID != "" {
				found.Keyed++
			}
		}
		if len(rows) < verifiedAtOnce {
			break
		}
	}
	found.Count, found.Head = last.Seq, hex.EncodeToString(last.Hash)
	return found, a.endsAt(tx, &last)
}

// follows returns what is wrong with a row behind the row before it, or "".
func follows(before, row *models.AuditEntry) string {
	switch {
	case row.Seq != before.Seq+1:
		return fmt.Sprintf("is missing, and row %d comes next", row.Seq)
	case !bytes.Equal(row.PrevHash, before.Hash):
		return "does not follow the row before it"
	case !bytes.Equal(row.Hash, chainHash(row)):
		return "was edited"
	}
	return ""
}

// endsAt compares the last row with the head, which knows of rows that were
// removed from the end.
func (a *Audit) endsAt(tx *gorm.DB, last *models.AuditEntry) error {
	var head models.AuditHead
	err := tx.First(&head, "id = ?", headID).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return fmt.Errorf("%w: the row that knows its end is missing", ErrBroken)
	case err != nil:
		return fault.Internal(err)
	case head.Seq > last.Seq:
		return fmt.Errorf("%w: row %d is missing, and the log had %d rows", ErrBroken, last.Seq+1, head.Seq)
	case head.Seq < last.Seq:
		return fmt.Errorf("%w: row %d was added behind its end", ErrBroken, head.Seq+1)
	case !bytes.Equal(head.Hash, last.Hash):
		return fmt.Errorf("%w: row %d is not the one that was written last", ErrBroken, last.Seq)
	}
	return a.headMisses(last, &head)
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
