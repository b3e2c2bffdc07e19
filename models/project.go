// Package models says what a row of each table means. It holds no behaviour
// beyond opening the database.
package models

import "time"

// AuthMode says how clients of a project prove who they are.
type AuthMode string

// The access modes of a project (specification, "Project authentication").
const (
	AuthNone   AuthMode = "none"
	AuthAPIKey AuthMode = "api_key"
	AuthOAuth  AuthMode = "oauth"
)

// OAuthAccess says who may let MCP clients use a project of mode oauth.
type OAuthAccess string

// Who may let clients use a project.
const (
	OAuthAnyone  OAuthAccess = "anyone"  // everybody who may sign in
	OAuthMembers OAuthAccess = "members" // the project's members and administrators
)

// ToolExposure says which tools a project's tools/list shows.
type ToolExposure string

// The exposures of a project.
const (
	ExposeFull    ToolExposure = "full"
	ExposeBuiltin ToolExposure = "builtin"
)

// Project is one MCP endpoint: the upstream servers behind it and the rules
// for its clients.
type Project struct {
	ID          string `gorm:"primaryKey"`
	Slug        string // unique; part of the endpoint's path
	Name        string
	Description string
	AuthMode    AuthMode
	OAuthAccess OAuthAccess `gorm:"column:oauth_access;default:anyone"`

	CodeModeEnabled    bool
	CodeModeTimeoutMS  int64
	CodeModeAllowFetch bool

	ToolExposure  ToolExposure
	ToolNameLimit int        // longest exported tool name; 0 is no limit
	DisabledTools StringList // exported names that an admin switched off, sorted
	RatePerSecond float64    // calls per key and second; 0 is no limit
	RateBurst     int
	// RecordPayloads keeps the arguments and answers of calls for a while.
	RecordPayloads bool

	CreatedAt time.Time
	UpdatedAt time.Time
}
