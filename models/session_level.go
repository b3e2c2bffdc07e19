package models

import "time"

// SessionLevel is the level of log messages that a client set for its session,
// so that it survives restarts and holds in every process.
type SessionLevel struct {
	Session   string `gorm:"primaryKey"` // the session's key, which is not good for using it
	Level     string
	ExpiresAt time.Time // when the session itself has ended at the latest
}
