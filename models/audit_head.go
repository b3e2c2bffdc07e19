package models

// AuditHead is the end of the audit log. Every writer locks this row, so that
// entries have one order and a deleted last entry is detected.
type AuditHead struct {
	ID    int64 `gorm:"primaryKey;autoIncrement:false"` // always 1
	Seq   int64 // of the last entry; 0 before the first
	Hash  []byte
	KeyID string // key of MAC; empty before the first entry with a MAC
	MAC   []byte // HMAC-SHA256 of Seq and Hash
}
