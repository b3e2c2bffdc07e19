package models

import "time"

// AuditEntry is one recorded change or security event. Rows are only ever
// added; each carries the hash of the one before it, so that an edited, removed
// or reordered row shows.
type AuditEntry struct {
	Seq       int64 `gorm:"primaryKey;autoIncrement:false"` // 1 for the first row, without gaps
	At        time.Time
	ActorKind string // user, token, cli, client, system
	ActorID   string
	ActorName string // as it was then
	IP        string
	RequestID string
	Action    string // "key.created", for instance
	Object    string // what was acted on, as people know it
	ObjectID  string
	Project   string    // its slug, or empty
	Detail    StringMap // never holds a secret
	PrevHash  []byte    // of the row before; empty for the first
	Hash      []byte    // SHA-256 over PrevHash and this row
	KeyID     string    // of the key of MAC; empty in rows of versions without codes
	MAC       []byte    // HMAC-SHA256 of Hash, which only a holder of the key can compute
}
