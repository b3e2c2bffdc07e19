package models

import "time"

// Inventory is the result of a server's last syncs, without its tools. A failed
// sync changes only the attempt and the error, so that the last good inventory
// remains in use.
type Inventory struct {
	ServerID        string     `gorm:"primaryKey"`
	SyncedAt        *time.Time // last success; nil if none succeeded
	AttemptedAt     time.Time
	ErrorCode       string // fault code of the last attempt; empty after a success
	ErrorMessage    string
	ErrorReason     string // upstream.Reason of the last attempt; empty after a success
	Warnings        StringList
	ProtocolVersion string // as negotiated
	TransportUsed   Transport
	ServerInfo      string // raw JSON from the upstream, or empty
	Capabilities    string // raw JSON from the upstream, or empty
	Instructions    string
}
