package models

import "time"

// RecoveryCode replaces a lost second factor, once.
type RecoveryCode struct {
	UserID    string `gorm:"primaryKey"`
	Hash      []byte `gorm:"primaryKey"` // SHA-256 of the code
	CreatedAt time.Time
	UsedAt    *time.Time // nil if not used
}
