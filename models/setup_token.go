package models

import "time"

// SetupToken lets whoever knows it create the first administrator. Several may
// be valid at once, because every replica that starts prints its own.
type SetupToken struct {
	Hash      []byte `gorm:"primaryKey"` // SHA-256 of the token
	CreatedAt time.Time
	ExpiresAt time.Time
}
