package models

import "time"

// AuditAnchor is the end of the rows that were removed from the audit log,
// because they were older than the operator's setting. The first stored row
// follows it. Without removed rows there is no anchor.
type AuditAnchor struct {
	ID       int64     `gorm:"primaryKey;autoIncrement:false"` // always 1
	Seq      int64     // of the last removed row
	Hash     []byte    // of the last removed row
	At       time.Time // time of the removal
	RowKeyID string    // key of the MAC of the last removed row; empty for a row without one
	KeyID    string    // key of MAC
	MAC      []byte    // HMAC-SHA256 of the other fields
}
