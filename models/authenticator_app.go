package models

import "time"

// AuthenticatorApp is an app of a user that shows one-time codes (RFC 6238).
type AuthenticatorApp struct {
	ID        string `gorm:"primaryKey"`
	UserID    string
	Name      string // given by the user
	Secret    string // sealed, in base32
	LastStep  int64  // 30-second step of the last accepted code; earlier codes and this one are rejected
	CreatedAt time.Time
	UsedAt    *time.Time // nil if never
}
