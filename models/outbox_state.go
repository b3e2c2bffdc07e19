package models

import "time"

// OutboxState is the last reported state of something whose changes are events,
// so that all replicas together report each change once.
type OutboxState struct {
	Subject string `gorm:"primaryKey"` // "server:ID", for instance
	State   string
	At      time.Time // of the change to State
}
