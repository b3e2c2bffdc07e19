package models

import "time"

// Key is an API key of a project. The key is shown once; only its hash is
// stored.
type Key struct {
	ID         string `gorm:"primaryKey"`
	ProjectID  string
	Name       string
	Hash       []byte // SHA-256 of the whole key; unique
	Prefix     string // first 8 characters, for display
	CreatedAt  time.Time
	LifetimeMS int64      // lifetime at creation; 0 means no expiry
	ExpiresAt  *time.Time // nil means no expiry; a rotation with a grace period shortens it
	LastUsedAt *time.Time // written in batches
	RevokedAt  *time.Time
}
