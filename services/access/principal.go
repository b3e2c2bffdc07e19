// Package access controls who may use the gateway. It authenticates the callers
// of project endpoints, signs users in, and manages their roles and browser
// sessions. API keys and password hashes are in sub-packages.
package access

import "mcpgateway/services/access/keys"

// Scope is a set of operations of a project's endpoint that an access token
// allows.
type Scope string

// The scopes of a project. ScopeCall includes ScopeRead.
const (
	ScopeRead Scope = "mcp:read" // initialize, list, read and search
	ScopeCall Scope = "mcp:call" // call tools
)

// ScopeCatalog is the scope of a gated view of the catalog.
const ScopeCatalog Scope = "catalog:read"

// Principal is an authenticated caller. The zero value is not a caller and is
// allowed nothing. Only Authenticate and Administrator create other values, so
// that an ignored error can never authenticate a request.
type Principal struct {
	kind      principalKind
	projectID string
	id        string // the result of ID
	scopes    scopes // of a user's client
	userID    string // the result of UserID
	toolsetID string // the result of ToolsetID
	use       *keys.Use
}

type principalKind uint8

const (
	kindNone principalKind = iota
	anonymous
	kindKey
	person // a user's client with an access token
)

// Prefix of user IDs, and the ID of anonymous callers. IDs of keys are returned
// by keys.Index.
const (
	personPrincipal = "user:"
	anyPrincipal    = "anonymous"
)

// scopes is a set of scopes.
type scopes uint8

const (
	mayRead scopes = 1 << iota
	mayCall
)

// Administrator returns a signed-in administrator who acts in a project, for
// example from its pages. The caller must have checked the role. Without a user
// or a project, it returns the zero Principal.
func Administrator(userID, projectID string) Principal {
	if userID == "" || projectID == "" {
		return Principal{}
	}
	return Principal{kind: person, projectID: projectID, id: personPrincipal + userID, userID: userID, scopes: mayRead | mayCall}
}

// IsValid reports whether the principal is a caller. The zero Principal isn't.
func (p Principal) IsValid() bool { return p.kind != kindNone }

// ProjectID returns the project that the caller may access.
func (p Principal) ProjectID() string { return p.projectID }

// Allows reports whether the caller may perform the operations of scope. Only
// access tokens are restricted. The zero Principal is allowed nothing.
func (p Principal) Allows(scope Scope) bool {
	switch p.kind {
	case anonymous, kindKey:
		return true
	case person:
		return p.scopes&mayCall != 0 || scope == ScopeRead && p.scopes&mayRead != 0
	default:
		return false
	}
}

// ID identifies the caller within its project: the ID of the key or of the
// client's user, or "anonymous". Sessions, cursors and limits are bound to it.
func (p Principal) ID() string { return p.id }

// IsKey reports whether the caller has an API key.
func (p Principal) IsKey() bool { return p.kind == kindKey }

// IsAnonymous reports whether the caller of a project without authentication
// needs no credentials.
func (p Principal) IsAnonymous() bool { return p.kind == anonymous }

// UserID returns the person behind the caller: the user of an access token or
// the owner of a personal key. It is empty for other callers.
func (p Principal) UserID() string { return p.userID }

// ToolsetID returns the toolset whose endpoint the caller uses. It is empty for
// the project's endpoint.
func (p Principal) ToolsetID() string { return p.toolsetID }

// Caller identifies the caller at the endpoint in use. Cursors and parked calls
// are bound to it, so that those of one endpoint are invalid at another.
func (p Principal) Caller() string {
	if p.toolsetID == "" {
		return p.id
	}
	return p.id + "@" + p.toolsetID
}

// Use returns the record of the first requests of a key, or nil for other
// callers.
func (p Principal) Use() *keys.Use { return p.use }
