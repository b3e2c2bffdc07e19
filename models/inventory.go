package models

import "time"

// Inventory is what the last syncs of a server learned about it, apart from
// its tools. A failed sync writes only the attempt and the error, so the last
// good inventory keeps serving.
type Inventory struct {
	ServerID        string     `gorm:"primaryKey"`
	SyncedAt        *time.Time // last success; nil when it never succeeded
	AttemptedAt     time.Time
	ErrorCode       string // fault code of the last attempt; empty after a success
	ErrorMessage    string
	Warnings        StringList
	ProtocolVersion string // negotiated with the upstream
	TransportUsed   Transport
	ServerInfo      string // raw JSON as the upstream sent it, or empty
	Capabilities    string // raw JSON as the upstream sent it, or empty
	Instructions    string
}
