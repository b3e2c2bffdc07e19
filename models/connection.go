package models

import "time"

// Connection is the gateway's OAuth connection to an upstream server: its
// tokens, their origin and their refresh state. Tokens are sealed. The row
// remains after its tokens are deleted, because it has the reason.
type Connection struct {
	ServerID string `gorm:"primaryKey"`
	State    string // one of oauthclient's stored states
	Reason   string // why authorization is required; empty if it isn't

	ServerURL          string // the access token is sent only to this URL
	Issuer             string // the refresh token is sent only to this issuer
	Resource           string // RFC 8707; empty if the server published none
	TokenEndpoint      string
	RevocationEndpoint string

	RegistrationKind string // dynamic, document, static or client_credentials
	RegistrationID   string // of the dynamic registration or the configuration of client credentials, else empty
	ClientID         string
	AuthMethod       string     // at the token endpoint
	ChoiceReasons    StringList // why preferred kinds of registration were skipped

	Scopes       StringList // granted
	ScopesNeeded StringList // required by the server but not granted
	AccessToken  string     // sealed, or empty
	RefreshToken string     // sealed, or empty
	IssuedAt     *time.Time
	ExpiresAt    *time.Time // of the access token; nil when unknown
	RefreshAt    *time.Time // time of the proactive refresh; nil when unknown

	ForcedAt      *time.Time // last refresh after a rejected token
	Failures      int64      // consecutive failed refreshes
	NextAttemptAt *time.Time // no refresh before; nil after a success
	ErrorCode     string     // last error code, or empty
	ErrorText     string
	ErrorAt       *time.Time

	ConnectedAt *time.Time
	ConnectedBy string // who authorized it
	RefreshedAt *time.Time

	Version   int64 // incremented by every change; updates of an older version fail
	CreatedAt time.Time
	UpdatedAt time.Time
}
