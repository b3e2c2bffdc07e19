package models

import "time"

// SessionLevel is the log level that a client set for its session. It survives
// restarts and applies in every process.
type SessionLevel struct {
	Session   string `gorm:"primaryKey"` // derived from the session id; not a credential
	Level     string
	ExpiresAt time.Time // latest possible end of the session
}
