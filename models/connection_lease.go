package models

import "time"

// ConnectionLease is the lease of the process that refreshes a connection's
// tokens. SQLite needs it because it has no locks that outlive a statement
// without blocking every writer.
type ConnectionLease struct {
	ServerID string `gorm:"primaryKey"`
	Owner    string
	Until    time.Time // the lease expires
}
