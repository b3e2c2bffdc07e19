package models

import "time"

// Invite lets its bearer set the name and the password of a new user, once.
type Invite struct {
	Hash      []byte `gorm:"primaryKey"` // SHA-256 of the token in the link
	UserID    string
	CreatedAt time.Time
	ExpiresAt time.Time
}
