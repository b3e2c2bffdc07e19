package models

import "time"

// Replica is a process of the gateway that serves. It is live if it was seen
// within the last 30 seconds.
type Replica struct {
	ID     string    `gorm:"primaryKey"` // random, new at each start
	SeenAt time.Time // updated every 10 seconds
}

// Declaration is a server in the file of a replica's runner, or of a runner that
// is connected to the replica.
type Declaration struct {
	ServerID  string `gorm:"primaryKey"`
	ReplicaID string `gorm:"primaryKey"`
	Hash      string // of the entry's command; empty for a server with a URL
}
