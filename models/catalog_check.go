package models

import (
	"database/sql/driver"
	"time"
)

// CheckState is the result of checking a remote server of the catalog.
type CheckState string

// The results of checks.
const (
	CheckReachable CheckState = "reachable"
	CheckSignIn    CheckState = "sign_in" // it requires authentication
	CheckFailed    CheckState = "failed"
)

// CatalogCheck is the last anonymous check of a remote server of the catalog.
type CatalogCheck struct {
	EntryID      string `gorm:"primaryKey"`
	CheckedAt    time.Time
	State        CheckState
	Revision     string       // negotiated protocol revision, or empty
	Message      string       // why it failed, or empty
	FailingSince *time.Time   // of the first of the failed checks since the last success; nil if it did not fail
	Tools        CheckedTools // that anyone can list
}

// SinkAfter is the time for which the checks of a server fail before it is listed
// after the others.
const SinkAfter = 7 * 24 * time.Hour

// Sinks reports whether the server has failed for at least SinkAfter, from the
// first failed check to the last.
func (c *CatalogCheck) Sinks() bool {
	return c.State == CheckFailed && c.FailingSince != nil && c.CheckedAt.Sub(*c.FailingSince) >= SinkAfter
}

// CheckedTool is a tool that a server lists without authentication.
type CheckedTool struct {
	Name       string   `json:"name"`
	ReadOnly   *bool    `json:"readOnly,omitempty"` // as declared; nil if not declared
	Parameters []string `json:"parameters,omitempty"`
	Tokens     int      `json:"tokens,omitempty"` // of its definition, estimated
}

// CheckedTools are tools in one text column with a JSON array. None are stored
// as "[]".
type CheckedTools []CheckedTool

// Value returns the tools as JSON text.
func (t CheckedTools) Value() (driver.Value, error) { return jsonList(t) }

// Scan sets the tools from JSON text, without tools to nil.
func (t *CheckedTools) Scan(src any) error { return scanList(src, (*[]CheckedTool)(t)) }

// GormDataType returns the column type for GORM.
func (CheckedTools) GormDataType() string { return "text" }
