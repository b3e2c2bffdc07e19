package models

import "time"

// Role says what a person may do.
type Role string

// The roles of people.
const (
	RoleAdmin  Role = "admin"  // everything
	RoleViewer Role = "viewer" // reads every administration page, changes nothing, sees no secret
	RoleMember Role = "member" // signs in to let MCP clients act, and sees the own grants
)

// User is a person who may sign in. One without a password and without an
// identity was invited and has not signed in yet.
type User struct {
	ID           string `gorm:"primaryKey"`
	Email        string // as it was entered
	EmailFold    string // in lower case; unique
	Name         string
	Role         Role
	PasswordHash string     // argon2id as a PHC string; empty for people who cannot use a password
	OIDCIssuer   string     `gorm:"column:oidc_issuer"`  // with OIDCSubject the identity at the provider, unique; empty without one
	OIDCSubject  string     `gorm:"column:oidc_subject"` // never an e-mail address: those change hands
	DisabledAt   *time.Time // nil may sign in
	CreatedAt    time.Time
	LastLoginAt  *time.Time // nil never did
}
