package activity

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

const (
	anchorID      = 1              // id of the row with the end of the removed rows
	anchorPurpose = "audit anchor" // of its MAC
	// trimmedAtOnce is the number of rows that one transaction removes. Writers
	// of the log wait for it.
	trimmedAtOnce = 1_000
)

// Trim removes the oldest rows of the log up to the first that isn't older than
// before, and returns their number. The hash of the last removed row is stored
// as the anchor, with a MAC, so that Verify still detects every change of the
// remaining rows and of the anchor. Each transaction removes a batch and writes
// an audit row. Trim verifies a batch before it is removed: if the log was
// changed, it returns an error that wraps ErrTampered and removes nothing.
func (a *Audit) Trim(ctx context.Context, before time.Time) (removed int, err error) {
	for {
		var batch int
		err := a.db.WithContext(ctx).Transaction(func(tx *gorm.DB) (err error) {
			batch, err = a.trim(tx, before.UTC())
			return err
		})
		if err != nil && !errors.Is(err, ErrTampered) {
			err = fault.From(err)
		}
		if err != nil {
			return removed, err
		}
		removed += batch
		if batch < trimmedAtOnce {
			return removed, nil
		}
	}
}

// trim removes a batch of rows.
func (a *Audit) trim(tx *gorm.DB, before time.Time) (int, error) {
	var head models.AuditHead
	if err := tx.Clauses(models.LockRow(tx)...).First(&head, "id = ?", headID).Error; err != nil {
		return 0, err
	}
	last, err := a.anchored(tx)
	if err != nil {
		return 0, err
	}
	var rows []models.AuditEntry
	if err := tx.Order("seq").Limit(trimmedAtOnce).Find(&rows, "seq > ?", last.Seq).Error; err != nil {
		return 0, err
	}
	count := 0
	for ; count < len(rows) && rows[count].At.Before(before); count++ {
		if err := a.check(&last, &rows[count]); err != nil {
			return 0, err
		}
		last = rows[count]
	}
	if count == 0 {
		return 0, nil
	}
	if err := a.anchor(tx, &last); err != nil {
		return 0, err
	}
	if err := tx.Delete(&models.AuditEntry{}, "seq <= ?", last.Seq).Error; err != nil {
		return 0, err
	}
	return count, a.Record(tx, Entry{Action: "audit.trimmed", Object: "rows up to " + strconv.FormatInt(last.Seq, 10), Detail: map[string]string{
		"rows": strconv.Itoa(count), "olderThan": before.Format(time.DateOnly),
	}})
}

// anchor stores the end of the removed rows.
func (a *Audit) anchor(tx *gorm.DB, last *models.AuditEntry) (err error) {
	row := models.AuditAnchor{ID: anchorID, Seq: last.Seq, Hash: last.Hash, At: a.now().UTC().Truncate(time.Millisecond), RowKeyID: last.KeyID, MAC: []byte{}}
	if a.signer != nil {
		if row.KeyID, row.MAC, err = a.signer.MAC(anchorPurpose, anchorData(&row)); err != nil {
			return err
		}
	}
	return tx.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, UpdateAll: true}).Create(&row).Error
}

// anchorData returns the data of an anchor's MAC.
func anchorData(row *models.AuditAnchor) []byte {
	data := binary.BigEndian.AppendUint64(nil, uint64(row.Seq))
	data = binary.BigEndian.AppendUint64(data, uint64(row.At.UnixMilli()))
	data = binary.BigEndian.AppendUint64(data, uint64(len(row.Hash)))
	return append(append(data, row.Hash...), row.RowKeyID...)
}

// anchored returns what is known of the last removed row: its number, hash and
// key. It returns the zero entry if none was removed, and an error that wraps
// ErrTampered if the anchor was changed.
func (a *Audit) anchored(tx *gorm.DB) (last models.AuditEntry, err error) {
	row, err := a.readAnchor(tx)
	if err != nil || row == nil {
		return last, err
	}
	last = models.AuditEntry{Seq: row.Seq, Hash: row.Hash, KeyID: row.RowKeyID}
	if a.signer == nil {
		return last, nil
	}
	ok := false
	if row.KeyID != "" {
		if ok, err = a.signer.CheckMAC(anchorPurpose, row.KeyID, anchorData(row), row.MAC); err != nil {
			return last, fault.From(fmt.Errorf("verify the anchor: %w", err))
		}
	}
	if !ok {
		return last, fmt.Errorf("%w: the MAC of its anchor is wrong, so rows up to row %d may have been removed by someone else", ErrTampered, row.Seq)
	}
	return last, nil
}

// readAnchor returns the anchor, or nil if no row was removed.
func (a *Audit) readAnchor(tx *gorm.DB) (*models.AuditAnchor, error) {
	var row models.AuditAnchor
	err := tx.First(&row, "id = ?", anchorID).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return nil, nil
	case err != nil:
		return nil, fault.Internal(err)
	}
	return &row, nil
}

// resignAnchor replaces the anchor's MAC if its key is inactive.
func (a *Audit) resignAnchor(tx *gorm.DB) error {
	row, err := a.readAnchor(tx)
	if err != nil || row == nil || row.KeyID == "" || row.KeyID == a.signer.ActiveKID() {
		return err
	}
	if row.KeyID, row.MAC, err = a.signer.MAC(anchorPurpose, anchorData(row)); err != nil {
		return err
	}
	return tx.Save(row).Error
}
