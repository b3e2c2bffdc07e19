package models

import "time"

// OutboxEvent is an event that waits for its delivery to destinations. Rows are
// deleted when every active destination has passed them.
type OutboxEvent struct {
	Seq     int64  `gorm:"primaryKey"` // in the order of the commits; never reused
	ID      string // UUID version 7; the same at every destination and attempt
	Kind    string // "server.down", for instance, or the audit action
	Project string // its slug, or empty
	At      time.Time
	Audit   bool   // the event is an audit entry
	Body    string // JSON text; never holds a secret
}

// TableName returns the name of the table.
func (OutboxEvent) TableName() string { return "outbox" }
