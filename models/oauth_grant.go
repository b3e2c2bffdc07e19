package models

import "time"

// OAuthGrant is a user's consent for a client in a project. All tokens issued
// from it are revoked with it.
type OAuthGrant struct {
	ID           string `gorm:"primaryKey"`
	ClientID     string
	UserID       string
	ProjectID    string
	ToolsetID    string // empty is the project\'s endpoint
	Scopes       string // separated by spaces
	RedirectName string // display name of the redirect target
	CreatedAt    time.Time
	LastUsedAt   time.Time // last time tokens were issued
	ExpiresAt    time.Time // no token outlives it
	RevokedAt    *time.Time
}

// TableName returns the table's name, because GORM would split the type's name.
func (OAuthGrant) TableName() string { return "oauth_grants" }
