package activity

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Signer computes and checks MACs with named keys.
type Signer interface {
	// ActiveKID returns the name of the key for new MACs.
	ActiveKID() string
	MAC(purpose string, data []byte) (kid string, mac []byte, err error)
	CheckMAC(purpose, kid string, data, mac []byte) (bool, error)
}

// Purposes of MACs.
const (
	rowPurpose  = "audit row"
	headPurpose = "audit head"
)

// NewKeyedAudit returns the audit log of the database with MACs. The MAC of a
// row covers its hash, and so all earlier rows; only a holder of a key can
// compute it.
func NewKeyedAudit(db *gorm.DB, signer Signer, now func() time.Time) *Audit {
	return &Audit{db: db, signer: signer, now: now}
}

// sign sets the MACs of a row and of the head after it.
func (a *Audit) sign(row *models.AuditEntry, head *models.AuditHead) (err error) {
	row.MAC, head.MAC = []byte{}, []byte{}
	if a.signer == nil {
		return nil
	}
	if row.KeyID, row.MAC, err = a.signer.MAC(rowPurpose, row.Hash); err != nil {
		return err
	}
	head.KeyID, head.MAC, err = a.signer.MAC(headPurpose, headData(head))
	return err
}

// headData returns the data of a head's MAC.
func headData(head *models.AuditHead) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(head.Seq)), head.Hash...)
}

// misses returns the problem of a row's MAC, or "". Rows of older versions have
// no MAC; after a row with a MAC, every row must have one.
func (a *Audit) misses(before, row *models.AuditEntry) (string, error) {
	switch {
	case a.signer == nil, row.KeyID == "" && before.KeyID == "":
		return "", nil
	case row.KeyID == "":
		return "has no MAC, but the previous row does", nil
	}
	ok, err := a.signer.CheckMAC(rowPurpose, row.KeyID, row.Hash, row.MAC)
	if err != nil {
		return "", fault.From(fmt.Errorf("verify row %d: %w", row.Seq, err))
	}
	if !ok {
		return "was not written by the gateway: its MAC is wrong", nil
	}
	return "", nil
}

// headMisses is misses for the head after the last row.
func (a *Audit) headMisses(last *models.AuditEntry, head *models.AuditHead) error {
	if a.signer == nil || last.KeyID == "" {
		return nil
	}
	ok, err := false, error(nil)
	if head.KeyID != "" {
		ok, err = a.signer.CheckMAC(headPurpose, head.KeyID, headData(head), head.MAC)
	}
	if err == nil && !ok {
		err = fmt.Errorf("%w: the MAC of its head is wrong, so rows after row %d may be missing", ErrTampered, last.Seq)
	}
	return err
}

// Rekey replaces the MACs of inactive keys, so that those keys can be removed.
// It returns the number of rows. If the log was changed, it returns the error
// of Verify and replaces nothing.
func (a *Audit) Rekey(ctx context.Context) (rows int, err error) {
	if a.signer == nil {
		return 0, nil
	}
	err = a.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		rows = 0
		var head models.AuditHead
		if err := tx.Clauses(models.LockRow(tx)...).First(&head, "id = ?", headID).Error; err != nil {
			return err
		}
		if _, err := a.verify(tx); err != nil {
			return err
		}
		old := tx.Select("seq", "hash").Order("seq").Limit(verifiedAtOnce).Where("key_id <> '' AND key_id <> ?", a.signer.ActiveKID()).Session(&gorm.Session{})
		for {
			var page []models.AuditEntry
			if err := old.Find(&page).Error; err != nil {
				return err
			}
			for i := range page {
				if err := a.resign(tx, &page[i]); err != nil {
					return err
				}
			}
			rows += len(page)
			if len(page) < verifiedAtOnce {
				return errors.Join(a.resignAnchor(tx), a.resignHead(tx, &head))
			}
		}
	})
	if err != nil && !errors.Is(err, ErrTampered) {
		err = fault.From(err)
	}
	return rows, err
}

func (a *Audit) resign(tx *gorm.DB, row *models.AuditEntry) error {
	kid, mac, err := a.signer.MAC(rowPurpose, row.Hash)
	if err != nil {
		return err
	}
	return tx.Model(&models.AuditEntry{}).Where("seq = ?", row.Seq).UpdateColumns(map[string]any{"key_id": kid, "mac": mac}).Error
}

func (a *Audit) resignHead(tx *gorm.DB, head *models.AuditHead) error {
	if head.KeyID == "" || head.KeyID == a.signer.ActiveKID() {
		return nil
	}
	kid, mac, err := a.signer.MAC(headPurpose, headData(head))
	if err != nil {
		return err
	}
	return tx.Model(&models.AuditHead{}).Where("id = ?", headID).UpdateColumns(map[string]any{"key_id": kid, "mac": mac}).Error
}
