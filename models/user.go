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
	Email        string // as it was entered
	EmailFold    string // in lower case; unique
	Name         string
	Role         Role
	PasswordHash string     // argon2id as a PHC string; empty if the user has no password
	OIDCIssuer   string     `gorm:"column:oidc_issuer"`  // unique together with OIDCSubject; empty without an identity
	OIDCSubject  string     `gorm:"column:oidc_subject"` // never an email address: those are reassigned
	DisabledAt   *time.Time // nil means enabled
	CreatedAt    time.Time
	LastLoginAt  *time.Time // nil if never
}
