package models

import "time"

// KeptForm is a form that a browser posted when its user first had to sign in
// or confirm who they are. It is carried out after that, once.
type KeptForm struct {
	Hash      []byte `gorm:"primaryKey"` // SHA-256 of the token in the pages that lead back to the form
	UserID    string
	SessionID string // in which it was posted; the session may have expired
	ExpiresAt time.Time
	Sealed    string // the request, with the user and the session that it is for
}
