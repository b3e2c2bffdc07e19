package models

import "time"

// ConnectionFlow is one authorization that was begun: what the callback needs
// to finish it, and the browser session that alone may. The state is not
// stored, only its hash.
type ConnectionFlow struct {
	StateHash []byte `gorm:"primaryKey"` // SHA-256
	ServerID  string
	SessionID string // of the browser session that began it

	ServerURL          string
	Issuer             string
	IssuerRequired     bool // the authorization server promised to send iss (RFC 9207)
	Resource           string
	TokenEndpoint      string
	RevocationEndpoint string
	RedirectURI        string
	Scopes             StringList // asked for
	Verifier           string     // sealed (RFC 7636)

	RegistrationKind string
	RegistrationID   string
	ClientID         string
	AuthMethod       string
	ChoiceReasons    StringList
	Repeated         bool // begun anew once, because the registration was gone

	CreatedAt  time.Time
	ExpiresAt  time.Time
	ConsumedAt *time.Time // set by the first callback, which is the only one
}
