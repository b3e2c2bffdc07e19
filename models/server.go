package models

import "time"

// Transport is the transport of an upstream server.
type Transport string

// The transports of an upstream server. Auto probes for the newest.
const (
	TransportAuto           Transport = "auto"
	TransportStreamableHTTP Transport = "streamable-http"
	TransportSSE            Transport = "sse"
)

// AuthType selects how the gateway authenticates to an upstream server.
type AuthType string

// The upstream authentication types (specification, "Upstream authentication").
const (
	UpstreamAuthNone   AuthType = "none"
	UpstreamAuthBearer AuthType = "bearer"
	UpstreamAuthOAuth  AuthType = "oauth"
)

// ConnectionMode selects whose account the gateway uses at an upstream server.
type ConnectionMode string

// The connection modes of an upstream server: one account for all users, or
// each user's own.
const (
	ConnectionShared   ConnectionMode = "shared"
	ConnectionPersonal ConnectionMode = "personal"
)

// SessionMode selects the clients that share an upstream session.
type SessionMode string

// The session modes of an upstream server.
const (
	SessionShared    SessionMode = "shared"
	SessionPerClient SessionMode = "per-client"
)

// DefinitionPolicy selects what happens when an upstream changes a tool.
type DefinitionPolicy string

// The definition policies: follow applies changes immediately; approve hides
// new and changed tools until an administrator approves them.
const (
	PolicyFollow  DefinitionPolicy = "follow"
	PolicyApprove DefinitionPolicy = "approve"
)

// OAuthGrantType selects who obtains the access tokens of an upstream server.
type OAuthGrantType string

// The OAuth grants of an upstream server. With GrantCode an administrator
// authorizes the gateway in a browser.
const (
	GrantCode              OAuthGrantType = ""
	GrantClientCredentials OAuthGrantType = "client_credentials"
)

// ClientAuth selects how the gateway authenticates at the token endpoint of an
// upstream server with client credentials (OpenID Connect Core, section 9).
type ClientAuth string

// The authentication methods of client credentials.
const (
	ClientSecretBasic ClientAuth = "client_secret_basic"
	ClientSecretPost  ClientAuth = "client_secret_post"
	PrivateKeyJWT     ClientAuth = "private_key_jwt"
)

// ProtocolAuto is the protocol version of a server whose newest revision is used.
const ProtocolAuto = "auto"

// Server is the configuration of an upstream MCP server in a project. Secrets
// (AuthBearer, header values, OAuthClientSecret, OAuthPrivateKey, TLSKey, query
// values of the URL) are sealed or `${NAME}` references, never cleartext.
type Server struct {
	ID        string `gorm:"primaryKey"`
	ProjectID string
	Alias     string // the part of exported names before the first "__"
	AliasFold string // the alias in lower case; unique per project

	URL        string     // with "[secret]" in place of literal query values
	URLSecrets StringList // the sealed values, in order; "" if missing
	Transport  Transport
	AuthType   AuthType
	AuthBearer string    // sealed literal, `${NAME}`, or empty
	Headers    StringMap // header name to sealed literal or `${NAME}`

	AllowedTools StringList // glob patterns; empty allows every tool
	DenyTools    StringList // glob patterns; deny overrides allow

	ToolOverrides ToolOverrides // what administrators changed about its tools

	Enabled          bool
	TimeoutMS        int64 // per call
	MaxConcurrent    int64 // concurrent calls per process
	SessionMode      SessionMode
	DefinitionPolicy DefinitionPolicy

	OAuthClientID     string
	OAuthClientSecret string
	OAuthScopes       StringList

	// With client credentials:
	OAuthGrant      OAuthGrantType
	OAuthClientAuth ClientAuth
	OAuthPrivateKey string // PEM; for PrivateKeyJWT
	OAuthKeyID      string // kid of its assertions, or empty
	OAuthTokenURL   string // empty discovers it
	OAuthAudience   string // of assertions; empty means the issuer

	TLSAuthority string // PEM or a reference; replaces the system's authorities
	TLSCert      string // PEM or a reference; the gateway's client certificate
	TLSKey       string // of TLSCert

	ForwardHeaders StringMap // header of the client's request to that of the server's

	Connection ConnectionMode // personal: every user connects their own account
	// PersonalHeaders are the headers whose values each user enters.
	PersonalHeaders StringList
	// InventoryUserID is the user whose connection reads the inventory, as
	// chosen by an administrator; empty for no choice.
	InventoryUserID string

	// ProtocolVersion is a protocol revision, or ProtocolAuto.
	ProtocolVersion string `gorm:"default:auto"`
	TaskTimeoutMS   int64  `gorm:"default:600000"` // of a call that waits for a task

	// ResultLimit replaces that of the project. Nil means no own limit, 0 unlimited.
	ResultLimit *int64

	// Source is the kind of file that declares the server.
	Source ServerSource
	// Entry is the name of the program in its runner's file, and empty for a
	// server with a URL.
	Entry       string
	ConnectorID string // of a program on another computer
	Undeclared  bool   // no live replica declares it, so its tools are hidden
	ListedHash  string // hash of the program's command whose lists were read last

	ConfigVersion int64 // incremented by every change of this row; closes upstream sessions
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// IsOffered reports whether clients may see what the server has.
func (s *Server) IsOffered() bool { return s.Enabled && !s.Undeclared }

// IsPersonal reports whether every user connects their own account.
func (s *Server) IsPersonal() bool { return s.Connection == ConnectionPersonal }
