package models

import "time"

// ConnectionRegistration is the gateway's own registration as a client of an
// authorization server (RFC 7591). It is used for every upstream server that
// trusts this issuer, and never at another one.
type ConnectionRegistration struct {
	ID              string `gorm:"primaryKey"`
	Issuer          string
	RedirectURI     string // unique with the issuer among those that are not retired
	ClientID        string
	ClientSecret    string // sealed, or empty
	AuthMethod      string // at the token endpoint
	SecretExpiresAt *time.Time
	RetiredAt       *time.Time // no new connection uses it from then on
	CreatedAt       time.Time
}
