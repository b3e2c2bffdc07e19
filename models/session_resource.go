package models

import "time"

// SessionResource is a resource that a client session is subscribed to, so that
// whichever process holds the session's stream can deliver its updates.
type SessionResource struct {
	Session   string `gorm:"primaryKey"` // the session's key, which is not good for using it
	URIHash   []byte `gorm:"primaryKey"` // SHA-256 of URI, which is too long for a key
	URI       string
	ProjectID string
	CreatedAt time.Time
	ExpiresAt time.Time // when the session itself has ended at the latest
}
