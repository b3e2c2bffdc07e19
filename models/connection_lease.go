package models

import "time"

// ConnectionLease says which process renews the tokens of a connection at
// present. It is used on SQLite, which has no locks that outlast a statement
// without stopping every writer.
type ConnectionLease struct {
	ServerID string `gorm:"primaryKey"`
	Owner    string
	Until    time.Time // nobody holds it from then on
}
