package models

import "time"

// Transport says how an upstream server is spoken to.
type Transport string

// The transports of an upstream server; auto probes for the newest.
const (
	TransportAuto           Transport = "auto"
	TransportStreamableHTTP Transport = "streamable-http"
	TransportSSE            Transport = "sse"
)

// AuthType says how the gateway proves itself to an upstream server.
type AuthType string

// The upstream authentication types (specification, "Upstream authentication").
const (
	UpstreamAuthNone   AuthType = "none"
	UpstreamAuthBearer AuthType = "bearer"
	UpstreamAuthOAuth  AuthType = "oauth"
)

// SessionMode says who shares an upstream session.
type SessionMode string

// The session modes of an upstream server.
const (
	SessionShared    SessionMode = "shared"
	SessionPerClient SessionMode = "per-client"
)

// DefinitionPolicy says what happens when an upstream changes a tool.
type DefinitionPolicy string

// The definition policies: follow shows the change at once, approve hides new
// and changed tools until an admin approves them.
const (
	PolicyFollow  DefinitionPolicy = "follow"
	PolicyApprove DefinitionPolicy = "approve"
)

// Server is the configuration of one upstream MCP server in a project. Secrets
// (AuthBearer, header values, OAuthClientSecret, query values of the URL) are
// sealed or `${NAME}` references, never plain text.
type Server struct {
	ID        string `gorm:"primaryKey"`
	ProjectID string
	Alias     string // the part of exported names before the first "__"
	AliasFold string // the alias in lower case; unique per project

	URL        string     // with "[secret]" in place of literal query values
	URLSecrets StringList // sealed literals of these, in order; "" is a missing one
	Transport  Transport
	AuthType   AuthType
	AuthBearer string    // sealed literal, `${NAME}`, or empty
	Headers    StringMap // header name to sealed literal or `${NAME}`

	AllowedTools StringList // glob patterns; empty allows every tool
	DenyTools    StringList // glob patterns; deny beats allow

	Enabled          bool
	TimeoutMS        int64 // of one call
	MaxConcurrent    int64 // calls in flight at once, of each process
	SessionMode      SessionMode
	DefinitionPolicy DefinitionPolicy

	OAuthClientID     string
	OAuthClientSecret string
	OAuthScopes       StringList

	ConfigVersion int64 // grows with every change of this row; ends upstream sessions
	CreatedAt     time.Time
	UpdatedAt     time.Time
}
