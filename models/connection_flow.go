package models

import "time"

// ConnectionFlow is a started authorization: the data of its callback and the
// browser session that may complete it. Only the hash of the state is stored.
type ConnectionFlow struct {
	StateHash []byte `gorm:"primaryKey"` // SHA-256
	ServerID  string
	UserID    string // the user who connects their own account; empty for the shared connection
	SessionID string // browser session that started it
	// InventoryOK is stored in the personal connection.
	InventoryOK bool

	ServerURL          string
	Issuer             string
	IssuerRequired     bool // the authorization server announced iss (RFC 9207)
	Resource           string
	TokenEndpoint      string
	RevocationEndpoint string
	RedirectURI        string
	Scopes             StringList // requested
	Verifier           string     // sealed (RFC 7636)

	RegistrationKind string
	RegistrationID   string
	ClientID         string
	AuthMethod       string
	ChoiceReasons    StringList
	Repeated         bool // restarted once because the registration was gone

	CreatedAt  time.Time
	ExpiresAt  time.Time
	ConsumedAt *time.Time // set by the first callback; later ones are rejected
}
