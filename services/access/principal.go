// Package access decides who may use what: it proves the callers of project
// endpoints, signs people in and holds their roles and browser sessions. API
// keys and the hashes of passwords are in rooms of their own.
package access

// Scope is a part of what a project's endpoint does, for access tokens.
type Scope string

// The scopes of a project. ScopeCall includes ScopeRead.
const (
	ScopeRead Scope = "mcp:read" // initialize, list, read and search
	ScopeCall Scope = "mcp:call" // call tools
)

// Principal is a proven caller. Its zero value is nobody: only Authenticate and
// Administrator make one that stands for a caller, so a swallowed error can
// never become an authenticated request.
type Principal struct {
	kind      principalKind
	projectID string
	id        string // as ID returns it
	scopes    scopes // of a person's client
}

type principalKind uint8

const (
	nobody principalKind = iota
	anonymous
	keyHolder
	person // by a client with an access token
)

// What the ids of people begin with, and that of those who need no proof. Keys
// have the ids that keys.Index returns.
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

// Administrator returns a signed-in administrator who acts in a project, such
// as from its pages. It is up to its caller to have proved that the person is
// one. It is nobody without a person and a project.
func Administrator(userID, projectID string) Principal {
	if userID == "" || projectID == "" {
		return Principal{}
	}
	return Principal{kind: person, projectID: projectID, id: personPrincipal + userID, scopes: mayRead | mayCall}
}

// Known reports whether the principal stands for a caller at all.
func (p Principal) Known() bool { return p.kind != nobody }

// ProjectID returns the project the caller was admitted to.
func (p Principal) ProjectID() string { return p.projectID }

// Allows reports whether the caller may do what the scope covers. Only access
// tokens are limited; nobody may do nothing.
func (p Principal) Allows(scope Scope) bool {
	switch p.kind {
	case anonymous, keyHolder:
		return true
	case person:
		return p.scopes&mayCall != 0 || scope == ScopeRead && p.scopes&mayRead != 0
	default:
		return false
	}
}

// ID identifies the caller within its project: the key's id, the person whose
// client it is, or "anonymous". Sessions, cursors and limits are bound to it.
func (p Principal) ID() string { return p.id }
