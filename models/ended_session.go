package models

import "time"

// EndedSession is a session that an MCP client ended before it expired. Live
// sessions have no row: a session id is authenticated by its own content.
type EndedSession struct {
	Hash      []byte    `gorm:"primaryKey"` // SHA-256 of the session id
	ExpiresAt time.Time // one session lifetime after its end; after that the id is invalid without this row
}
