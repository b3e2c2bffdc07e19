package models

import "time"

// BrowserSession is a user's browser session. Only the hash of the cookie's
// value is stored.
type BrowserSession struct {
	Hash            []byte `gorm:"primaryKey"` // SHA-256 of the 32 random bytes in the cookie; changes when the cookie is rotated
	ID              string // unique; unchanged when the cookie is rotated
	UserID          string
	CreatedAt       time.Time
	LastSeenAt      time.Time  // written at most once a minute
	AuthenticatedAt time.Time  // last time the user authenticated
	ConfirmedAt     *time.Time // last request within the step-up window; nil means AuthenticatedAt
	CSRF            string     // token of forms; empty means derived from the cookie's value
	IP              string
	UserAgent       string
	RevokedAt       *time.Time // nil means not revoked
}
