package models

// AuditHead is the end of the audit log: the one row that every writer locks,
// so that the log has one order and a removed last row shows.
type AuditHead struct {
	ID    int64 `gorm:"primaryKey;autoIncrement:false"` // always 1
	Seq   int64 // of the last entry; 0 before the first
	Hash  []byte
	KeyID string // of the key of MAC; empty before the first entry with a code
	MAC   []byte // HMAC-SHA256 of Seq and Hash
}
