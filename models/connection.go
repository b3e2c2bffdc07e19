package models

import "time"

// Connection is the OAuth connection of the gateway to one upstream server:
// the tokens, where they came from and how they are kept fresh. Tokens are
// sealed, never plain text. A row stays when its tokens are gone, because it
// says why.
type Connection struct {
	ServerID string `gorm:"primaryKey"`
	State    string // one of oauthclient's stored states
	Reason   string // why a person is needed; empty when nobody is

	ServerURL          string // the only URL the access token may be sent to
	Issuer             string // the only authorization server the refresh token may be sent to
	Resource           string // RFC 8707; empty when the server published none
	TokenEndpoint      string
	RevocationEndpoint string

	RegistrationKind string // dynamic, document or static
	RegistrationID   string // of the dynamic registration, else empty
	ClientID         string
	AuthMethod       string     // at the token endpoint
	ChoiceReasons    StringList // why this registration and no earlier kind

	Scopes       StringList // granted
	ScopesNeeded StringList // what the server asked for beyond those
	AccessToken  string     // sealed, or empty
	RefreshToken string     // sealed, or empty
	IssuedAt     *time.Time
	ExpiresAt    *time.Time // of the access token; nil when unknown
	RefreshAt    *time.Time // when to renew it before; nil when unknown

	ForcedAt      *time.Time // when a refused token was last renewed early
	Failures      int64      // of refreshes, in a row
	NextAttemptAt *time.Time // not before; nil after a success
	ErrorCode     string     // of the last failure, or empty
	ErrorText     string
	ErrorAt       *time.Time

	ConnectedAt *time.Time
	ConnectedBy string // who authorized it
	RefreshedAt *time.Time

	Version   int64 // grows with every change; a writer that read an older one changes nothing
	CreatedAt time.Time
	UpdatedAt time.Time
}
