package models

import "time"

// ServerStateKind is the availability of an upstream server.
type ServerStateKind string

// The kinds of states. A server without credentials is neither up nor down.
const (
	ServerUp    ServerStateKind = "up"
	ServerDown  ServerStateKind = "down"
	ServerUnset ServerStateKind = "unset"
)

// ServerState is an observation of a server's availability by any replica. A
// row is stored when the state changes, and again from time to time while it
// lasts, so that a time without rows is unknown.
type ServerState struct {
	ServerID string    `gorm:"primaryKey"`
	At       time.Time `gorm:"primaryKey"`
	State    ServerStateKind
	Cause    string // upstream.Reason of a failure, or empty
}
