package models

import "time"

// KeptForm is a form posted before its user signed in or confirmed their
// identity. It is submitted once after that.
type KeptForm struct {
	Hash      []byte `gorm:"primaryKey"` // SHA-256 of the token in the pages that return to the form
	UserID    string
	SessionID string // session that posted it; may have expired
	ExpiresAt time.Time
	Sealed    string // request with its user and session
}
