package models

import "time"

// ConnectionRegistration is the gateway's registration as a client of an
// authorization server (RFC 7591). It is used for all upstream servers of this
// issuer and for no other issuer.
type ConnectionRegistration struct {
	ID              string `gorm:"primaryKey"`
	Issuer          string
	RedirectURI     string // unique per issuer among active registrations
	ClientID        string
	ClientSecret    string // sealed, or empty
	AuthMethod      string // at the token endpoint
	SecretExpiresAt *time.Time
	RetiredAt       *time.Time // not used for new connections after this time
	CreatedAt       time.Time
}
