package models

import "time"

// Passkey is the public key of a user's device or password manager (W3C Web
// Authentication, credential record).
type Passkey struct {
	ID           string `gorm:"primaryKey"`
	UserID       string
	Name         string // given by the user
	CredentialID []byte // unique
	Credential   string // public key, counter and flags as JSON
	CreatedAt    time.Time
	UsedAt       *time.Time // nil if never
}
