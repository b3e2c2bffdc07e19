package models

import "time"

// TokenKind says what a token is good for.
type TokenKind string

// The kinds of tokens.
const (
	TokenAccess  TokenKind = "access"  // opens a project's endpoint
	TokenRefresh TokenKind = "refresh" // is exchanged for a new pair, once
)

// OAuthToken is a token of a grant, as its hash. It is good until it expires,
// as long as its grant is neither revoked nor expired.
type OAuthToken struct {
	Hash      []byte `gorm:"primaryKey"` // SHA-256 of the token
	Kind      TokenKind
	GrantID   string
	Scopes    string // with spaces between
	CreatedAt time.Time
	ExpiresAt time.Time
	UsedAt    *time.Time // of a refresh token: when it was exchanged
}

// TableName names the table, because the name of the type would split in two.
func (OAuthToken) TableName() string { return "oauth_tokens" }
