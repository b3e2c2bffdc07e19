package models

import "time"

// LearnedRevision is the protocol revision at a server for calls of clients that
// the server can send requests to, as found by a failed call. It is deleted when
// the URL, transport or protocol version of the server changes.
type LearnedRevision struct {
	ServerID string `gorm:"primaryKey"`
	Revision string
	Reason   string // text of the failed call
	Since    time.Time
}
