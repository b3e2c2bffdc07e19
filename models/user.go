package models

import "time"

// Role is a user's role.
type Role string

// The roles of users.
const (
	RoleAdmin  Role = "admin"  // everything
	RoleViewer Role = "viewer" // reads all administration pages, without secrets
	RoleMember Role = "member" // authorizes MCP clients and manages their own grants
)

// User is an account. Without a password and identity, the user was invited and
// has not signed in.
type User struct {
	ID           string `gorm:"primaryKey"`
	Email        string // as it was entered; empty for a user of the provider without a verified, unused address
	EmailFold    string // in lower case; unique; "id:" and the ID without an address
	Name         string
	Role         Role
	PasswordHash string // argon2id as a PHC string; empty if the user has no password
	OIDCIssuer   string `gorm:"column:oidc_issuer"`  // unique together with OIDCSubject; empty without an identity
	OIDCSubject  string `gorm:"column:oidc_subject"` // never an email address: those are reassigned
	// GroupsOverage reports whether the identity provider left the groups out at
	// the last sign-in because there were too many.
	GroupsOverage bool
	DisabledAt    *time.Time // nil means enabled
	CreatedAt     time.Time
	LastLoginAt   *time.Time // nil if never
}
