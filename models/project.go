// Package models defines the tables' rows and opens the database.
package models

import "time"

// AuthMode selects how clients of a project authenticate.
type AuthMode string

// The access modes of a project (specification, "Project authentication").
const (
	AuthNone   AuthMode = "none"
	AuthAPIKey AuthMode = "api_key"
	AuthOAuth  AuthMode = "oauth"
)

// OAuthAccess selects the users who can authorize MCP clients in a project of
// mode oauth.
type OAuthAccess string

// The values of OAuthAccess.
const (
	OAuthAnyone  OAuthAccess = "anyone"  // every user who can sign in
	OAuthMembers OAuthAccess = "members" // the project's members and administrators
)

// ToolExposure selects the tools in a project's tools/list.
type ToolExposure string

// The exposures of a project.
const (
	ExposeFull    ToolExposure = "full"
	ExposeBuiltin ToolExposure = "builtin"
)

// ToolNames selects the names of tools and prompts in lists.
type ToolNames string

// The names of a project's tools: always alias__tool, or without alias where only
// one server has the name.
const (
	NamesPrefixed ToolNames = "prefixed"
	NamesBare     ToolNames = "bare"
)

// Project is an MCP endpoint: its upstream servers and the rules for its
// clients.
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
	ToolNameLimit int        // maximum length of exported tool names; 0 means unlimited
	DisabledTools StringList // exported names of disabled tools, sorted
	RatePerSecond float64    // calls per key and second; 0 means unlimited
	RateBurst     int
	Limits        LimitList // of calls per key, user, toolset, tool or project
	// RecordPayloads enables recording of arguments and results in CallPayload.
	RecordPayloads bool

	ToolNames         ToolNames `gorm:"default:prefixed"`
	ValidateArguments bool      // check the arguments of calls against the tool's schema
	ResultLimit       int64     // bytes of text from which results of tools are cut; 0 means unlimited
	Instructions      string    // shown to models before those of the servers
	Icon              string    // https: or data: URL, or empty
	WebsiteURL        string
	ServerCard        bool // publish a Server Card (SEP-2127)
	Published         bool // the endpoint and its toolsets are rows of the catalog

	PersonalKeysEnabled bool       // people create their own keys
	PersonalKeysMaxDays int        `gorm:"default:365"` // maximum lifetime of personal keys in days
	SecretRefs          StringList // globs of the references that maintainers can save

	RetentionCalls    int `gorm:"default:7"` // days for which calls are stored
	RetentionPayloads int // days for which arguments and results are stored; 0 stores none
	RetentionRuns     int `gorm:"default:200"` // number of stored Code Mode runs

	CreatedAt time.Time
	UpdatedAt time.Time
}
