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

// headID is the id of the row with the end of the log.
const headID = 1

// verifiedAtOnce is the number of rows per page of Verify.
const verifiedAtOnce = 1000

// Verification is the result of Verify: the number of rows ever written, the
// number of those that Trim removed, the number of stored rows with a MAC, and
// the hash of the last row in hexadecimal, which is empty for an empty log. The
// first MAC covers all earlier rows. The same count always
// has the same hash, unless the log was rewritten; comparing it with a copy
// stored elsewhere detects that, too.
type Verification struct {
	Count   int64
	Removed int64
	Keyed   int64
	Head    string
}

// ErrTampered is wrapped by the error of Verify if the log was changed.
var ErrTampered = errors.New("audit log was tampered with")

// Verify reads a snapshot of the log in pages and checks that no row was
// changed, deleted, inserted or moved. Its error wraps ErrTampered and contains
// the first wrong row, or is an INTERNAL fault if the log can't be read.
func (a *Audit) Verify(ctx context.Context) (Verification, error) {
	var found Verification
	err := a.db.WithContext(ctx).Transaction(func(tx *gorm.DB) (err error) {
		found, err = a.verify(tx)
		return err
	}, models.ConsistentRead(a.db))
	if err != nil && !errors.Is(err, ErrTampered) {
		return found, fault.From(err)
	}
	if a.events == nil {
		return found, err
	}
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	if failed := a.events.Verified(ctx, problem); failed != nil && err == nil {
		return found, failed
	}
	return found, err
}

// verify is Verify in a transaction.
func (a *Audit) verify(tx *gorm.DB) (found Verification, err error) {
	last, err := a.anchored(tx)
	if err != nil {
		return found, err
	}
	found.Removed = last.Seq
	for {
		var rows []models.AuditEntry
		if err := tx.Order("seq").Limit(verifiedAtOnce).Find(&rows, "seq > ?", last.Seq).Error; err != nil {
			return found, fault.Internal(err)
		}
		for i := range rows {
			if err := a.check(&last, &rows[i]); err != nil {
				return found, err
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
	return found, a.checkHead(tx, &last)
}

// check returns an error that wraps ErrTampered unless the row follows its
// predecessor.
func (a *Audit) check(before, row *models.AuditEntry) error {
	why := checkLink(before, row)
	if why == "" {
		var err error
		if why, err = a.misses(before, row); err != nil {
			return err
		}
	}
	if why != "" {
		return fmt.Errorf("%w: row %d %s", ErrTampered, before.Seq+1, why)
	}
	return nil
}

// checkLink returns the problem of a row after its predecessor, or "".
func checkLink(before, row *models.AuditEntry) string {
	switch {
	case row.Seq != before.Seq+1:
		return fmt.Sprintf("is missing, and row %d comes next", row.Seq)
	case !bytes.Equal(row.PrevHash, before.Hash):
		return "does not follow the previous row"
	case !bytes.Equal(row.Hash, chainHash(row)):
		return "was changed"
	}
	return ""
}

// checkHead compares the last row with the head, which detects rows deleted from
// the end.
func (a *Audit) checkHead(tx *gorm.DB, last *models.AuditEntry) error {
	var head models.AuditHead
	err := tx.First(&head, "id = ?", headID).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return fmt.Errorf("%w: the head row is missing", ErrTampered)
	case err != nil:
		return fault.Internal(err)
	case head.Seq > last.Seq:
		return fmt.Errorf("%w: row %d is missing, and the log had %d rows", ErrTampered, last.Seq+1, head.Seq)
	case head.Seq < last.Seq:
		return fmt.Errorf("%w: row %d was added after its end", ErrTampered, head.Seq+1)
	case !bytes.Equal(head.Hash, last.Hash):
		return fmt.Errorf("%w: row %d is not the last one written", ErrTampered, last.Seq)
	}
	return a.headMisses(last, &head)
}

// chainHash returns the hash of a row: over the previous hash and every field.
// Fields are prefixed with their length, so that different rows never have the
// same input.
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
