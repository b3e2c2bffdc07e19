package models

import "time"

// OAuthCode is the hash of an authorization code. Consumed codes are stored for
// a while to detect reuse.
type OAuthCode struct {
	Hash         []byte `gorm:"primaryKey"` // SHA-256 of the code
	GrantID      string // grant that the exchange creates
	ClientID     string
	UserID       string
	ProjectID    string
	ToolsetID    string // empty is the project\'s endpoint
	RedirectURI  string
	RedirectName string // display name of the redirect target
	Challenge    string // PKCE, S256
	Scopes       string // separated by spaces
	CreatedAt    time.Time
	ExpiresAt    time.Time
	UsedAt       *time.Time
}

// TableName returns the table's name, because GORM would split the type's name.
func (OAuthCode) TableName() string { return "oauth_codes" }
