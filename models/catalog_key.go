package models

import "time"

// CatalogKey is a key with which editors read gated views of the catalog. The
// secret is shown once; only its hash is stored.
type CatalogKey struct {
	ID         string `gorm:"primaryKey"`
	Name       string
	Hash       []byte // of the secret; unique
	Prefix     string // first characters of the secret, for display
	CreatedBy  string // user id, or empty for the command line
	CreatedAt  time.Time
	ExpiresAt  *time.Time // nil means never
	LastUsedAt *time.Time // nil if it was never used
	RevokedAt  *time.Time
}
