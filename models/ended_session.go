package models

import "time"

// EndedSession is a session that an MCP client ended before its time. Session
// ids are not stored while they are good: an id carries its own proof, so only
// those that must no longer be accepted need a row.
type EndedSession struct {
	Hash      []byte    `gorm:"primaryKey"` // SHA-256 of the session id
	ExpiresAt time.Time // a session's whole lifetime after its end; then the id is refused without the row
}
