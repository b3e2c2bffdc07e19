package models

import "time"

// FinishedResult is the response to a request whose client was not connected
// when it finished. A client that resumes the stream receives it in any process.
type FinishedResult struct {
	ID        string `gorm:"primaryKey"` // derived from session, stream and request; not a credential
	Session   string // derived from the session id
	ProjectID string
	Result    string // the sealed JSON-RPC response
	CreatedAt time.Time
	ExpiresAt time.Time
}
