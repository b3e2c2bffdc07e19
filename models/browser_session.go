package models

import "time"

// BrowserSession is a person signed in with a browser. The cookie's value is
// not stored, only its hash.
type BrowserSession struct {
	Hash            []byte `gorm:"primaryKey"` // SHA-256 of the 32 random bytes in the cookie; renewed with them
	ID              string // unique; stays when the cookie's value is renewed
	UserID          string
	CreatedAt       time.Time
	LastSeenAt      time.Time  // written at most once a minute
	AuthenticatedAt time.Time  // when the person last proved who they are
	ConfirmedAt     *time.Time // last request while that proof was still good for changing secrets; nil is AuthenticatedAt
	CSRF            string     // what forms carry, good only with the cookie; empty is derived from its value
	IP              string
	UserAgent       string
	RevokedAt       *time.Time // nil is live until it is too old
}
