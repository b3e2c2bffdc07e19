package models

import "time"

// SessionResource is a client session's subscription to a resource. The process
// that serves the session's stream delivers the updates.
type SessionResource struct {
	Session   string `gorm:"primaryKey"` // derived from the session id; not a credential
	URIHash   []byte `gorm:"primaryKey"` // SHA-256 of URI, which can be too long for a key
	URI       string
	ProjectID string
	CreatedAt time.Time
	ExpiresAt time.Time // latest possible end of the session
}
