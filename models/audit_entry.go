package models

import "time"

// AuditEntry is one recorded change or security event. Rows are only inserted.
// Each row contains the hash of the previous row, so that a changed, deleted or
// reordered row is detected.
type AuditEntry struct {
	Seq       int64 `gorm:"primaryKey;autoIncrement:false"` // 1 for the first row, without gaps
	At        time.Time
	ActorKind string // user, token, cli, client, system
	ActorID   string
	ActorName string // at the time of the event
	IP        string
	RequestID string
	Action    string // "key.created", for instance
	Object    string // display name of the changed object
	ObjectID  string
	Project   string    // its slug, or empty
	Detail    StringMap // never holds a secret
	PrevHash  []byte    // of the row before; empty for the first
	Hash      []byte    // SHA-256 over PrevHash and this row
	KeyID     string    // key of MAC; empty in rows written before MACs were added
	MAC       []byte    // HMAC-SHA256 of Hash
}
