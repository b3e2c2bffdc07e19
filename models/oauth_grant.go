package models

import "time"

// OAuthGrant is what a person allowed a client in a project. All tokens that
// come from one consent are its family and end with it.
type OAuthGrant struct {
	ID           string `gorm:"primaryKey"`
	ClientID     string
	UserID       string
	ProjectID    string
	Scopes       string // with spaces between
	RedirectName string // of where the answer went, for display
	CreatedAt    time.Time
	LastUsedAt   time.Time // when tokens were last issued
	ExpiresAt    time.Time // no token outlives it
	RevokedAt    *time.Time
}

// TableName names the table, because the name of the type would split in two.
func (OAuthGrant) TableName() string { return "oauth_grants" }
