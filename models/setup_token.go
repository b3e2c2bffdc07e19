package models

import "time"

// SetupToken authorizes its bearer to create the first administrator. Several
// can be valid, because every starting replica prints one.
type SetupToken struct {
	Hash      []byte `gorm:"primaryKey"` // SHA-256 of the token
	CreatedAt time.Time
	ExpiresAt time.Time
}
