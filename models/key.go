package models

import "time"

// Key is an API key of a project. The key itself is shown once and only its
// hash is stored.
type Key struct {
	ID         string `gorm:"primaryKey"`
	ProjectID  string
	Name       string
	Hash       []byte // SHA-256 of the whole key; unique
	Prefix     string // first 8 characters, for display
	CreatedAt  time.Time
	LifetimeMS int64      // how long it was given at its creation; 0 never expires
	ExpiresAt  *time.Time // nil never expires; a rotation with a grace brings it forward
	LastUsedAt *time.Time // written in batches
	RevokedAt  *time.Time
}
