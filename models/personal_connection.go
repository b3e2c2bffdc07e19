package models

import "time"

// ConnectionKind selects how a user's connection authenticates.
type ConnectionKind string

// The kinds of personal connections: by OAuth, or by a bearer token or header
// values that the user entered.
const (
	KindOAuth ConnectionKind = "oauth"
	KindToken ConnectionKind = "token"
)

// PersonalConnection is a user's own connection to an upstream server. A
// connection of the kind token has its bearer token as the access token.
type PersonalConnection struct {
	Connection `gorm:"embedded"`

	UserID      string         `gorm:"primaryKey"`
	Kind        ConnectionKind // oauth or token
	Headers     StringMap      // header name to sealed value
	InventoryOK bool           // whether the gateway may read the inventory with it
	UsedAt      *time.Time     // of the last request, to within an hour
}
