package models

import "time"

// TokenKind is the kind of a token.
type TokenKind string

// The kinds of tokens.
const (
	TokenAccess  TokenKind = "access"  // for a project's endpoint
	TokenRefresh TokenKind = "refresh" // exchanged once for a new pair
)

// OAuthToken is the hash of a grant's token. It is valid until it expires or
// its grant is revoked or expires.
type OAuthToken struct {
	Hash      []byte `gorm:"primaryKey"` // SHA-256 of the token
	Kind      TokenKind
	GrantID   string
	Scopes    string // separated by spaces
	CreatedAt time.Time
	ExpiresAt time.Time
	UsedAt    *time.Time // time a refresh token was exchanged
}

// TableName returns the table's name, because GORM would split the type's name.
func (OAuthToken) TableName() string { return "oauth_tokens" }
