package models

import "time"

// Connector is a runner on another computer, which connects with a token. The
// token is shown once; only its hash is stored.
type Connector struct {
	ID         string `gorm:"primaryKey"`
	ProjectID  string
	Name       string
	Hash       []byte // of the token; unique
	Prefix     string // first 8 characters of the token, for display
	CreatedAt  time.Time
	ExpiresAt  time.Time
	LastSeenAt *time.Time // nil if it never connected
	RevokedAt  *time.Time
}
