package models

import "time"

// UpstreamTask is a task of an upstream server that a client created (MCP
// 2025-11-25, "Tasks"; SEP-2663).
type UpstreamTask struct {
	ID        string `gorm:"primaryKey"` // derived from the handle; not a credential
	ProjectID string
	Principal string // its owner
	ServerID  string
	Tool      string // exported name
	State     string // raw JSON of the last task object, with the handle as its id
	Open      bool   // not yet completed, failed or cancelled
	CreatedAt time.Time
	UpdatedAt time.Time
	ExpiresAt time.Time
}
