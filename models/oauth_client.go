package models

import "time"

// ClientKind is the way an OAuth client was registered.
type ClientKind string

// The kinds of OAuth clients.
const (
	ClientRegistered ClientKind = "dcr"  // dynamic registration (RFC 7591)
	ClientDocument   ClientKind = "cimd" // the id is the URL of the client's metadata document
)

// AuthMethod is an OAuth client's authentication method at the token endpoint.
type AuthMethod string

// The authentication methods of clients (RFC 7591, section 2).
const (
	AuthMethodNone  AuthMethod = "none"
	AuthMethodBasic AuthMethod = "client_secret_basic"
	AuthMethodPost  AuthMethod = "client_secret_post"
)

// OAuthClient is an MCP client that can request access. Its metadata is
// unverified, except for its redirect URIs and the host of a metadata document.
type OAuthClient struct {
	ID           string `gorm:"primaryKey"` // random, or the URL of the metadata document
	Kind         ClientKind
	Name         string // sanitized for display
	RedirectURIs StringList
	AuthMethod   AuthMethod
	SecretHash   []byte // SHA-256; empty for public clients
	CreatedAt    time.Time
	FreshUntil   *time.Time // when the metadata document must be fetched again; nil for other kinds
	LastUsedAt   *time.Time // nil if never granted access
}

// TableName returns the table's name, because GORM would split the type's name.
func (OAuthClient) TableName() string { return "oauth_clients" }
