package models

import "time"

// OAuthCode is an authorization code: one person's consent on its way to the
// client, as its hash. A spent one is kept for a while, to notice a second use.
type OAuthCode struct {
	Hash         []byte `gorm:"primaryKey"` // SHA-256 of the code
	GrantID      string // of the grant that it is exchanged for, which does not exist before
	ClientID     string
	UserID       string
	ProjectID    string
	RedirectURI  string
	RedirectName string // of where it leads, for display
	Challenge    string // PKCE, S256
	Scopes       string // with spaces between
	CreatedAt    time.Time
	ExpiresAt    time.Time
	UsedAt       *time.Time
}

// TableName names the table, because the name of the type would split in two.
func (OAuthCode) TableName() string { return "oauth_codes" }
