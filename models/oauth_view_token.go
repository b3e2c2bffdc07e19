package models

import "time"

// OAuthViewToken is the hash of an access token with which a user's client reads
// a gated view of the catalog. It is not refreshed.
type OAuthViewToken struct {
	ID           string `gorm:"primaryKey"` // also that of its authorization code
	Hash         []byte // SHA-256 of the token; unique
	ClientID     string
	UserID       string
	ViewID       string
	RedirectName string // display name of the redirect target
	CreatedAt    time.Time
	ExpiresAt    time.Time
	LastUsedAt   *time.Time // nil if it was never used
	RevokedAt    *time.Time
}

// TableName returns the table's name, because GORM would split the type's name.
func (OAuthViewToken) TableName() string { return "oauth_view_tokens" }
