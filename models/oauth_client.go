package models

import "time"

// ClientKind says how an OAuth client became known.
type ClientKind string

// The kinds of OAuth clients.
const (
	ClientRegistered ClientKind = "dcr"  // it registered itself (RFC 7591)
	ClientDocument   ClientKind = "cimd" // its id is the address of its metadata document
)

// AuthMethod says how an OAuth client proves itself at the token endpoint.
type AuthMethod string

// The authentication methods of clients (RFC 7591, section 2).
const (
	AuthMethodNone  AuthMethod = "none"
	AuthMethodBasic AuthMethod = "client_secret_basic"
	AuthMethodPost  AuthMethod = "client_secret_post"
)

// OAuthClient is an MCP client that may ask people for access. What it says of
// itself is proven by nothing but its redirect URIs and, for a document, the
// host that serves it.
type OAuthClient struct {
	ID           string `gorm:"primaryKey"` // random, or the address of the metadata document
	Kind         ClientKind
	Name         string // cleaned for display
	RedirectURIs StringList
	AuthMethod   AuthMethod
	SecretHash   []byte // SHA-256; empty for public clients
	CreatedAt    time.Time
	FreshUntil   *time.Time // when the stored metadata document must be read again; nil for other kinds
	LastUsedAt   *time.Time // nil was never given access by anybody
}

// TableName names the table, because the name of the type would split in two.
func (OAuthClient) TableName() string { return "oauth_clients" }
