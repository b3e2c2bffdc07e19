package models

import "time"

// SpentSignIn is a completed or rejected sign-in at the identity provider, or a
// consumed challenge of a second factor. It can't be completed again.
type SpentSignIn struct {
	Hash      []byte    `gorm:"primaryKey"` // SHA-256 of the state parameter or of the challenge
	ExpiresAt time.Time // then the sign-in is rejected without this row
}
