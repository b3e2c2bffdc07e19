package models

import "time"

// SpentSignIn is a sign-in by the identity provider that was completed or
// refused and cannot be completed again.
type SpentSignIn struct {
	Hash      []byte    `gorm:"primaryKey"` // SHA-256 of the state parameter
	ExpiresAt time.Time // then the sign-in is refused without the row
}
