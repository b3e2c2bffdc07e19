// Package access decides who may use what: it proves the callers of project
// endpoints and keeps their API keys.
package access

// Principal is a proven caller. Its zero value is nobody: only Authenticate
// makes one that stands for a caller, so a swallowed error can never become
// an authenticated request.
type Principal struct {
	kind      principalKind
	projectID string
	id        string
}

type principalKind uint8

const (
	nobody principalKind = iota
	anonymous
	keyHolder
)

// Known reports whether the principal stands for a caller at all.
func (p Principal) Known() bool { return p.kind != nobody }

// ProjectID returns the project the caller was admitted to.
func (p Principal) ProjectID() string { return p.projectID }

// ID identifies the caller within its project: the key's id, or "anonymous".
// Sessions, cursors and limits are bound to it.
func (p Principal) ID() string {
	switch p.kind {
	case anonymous:
		return "anonymous"
	case keyHolder:
		return "key:" + p.id
	default:
		return ""
	}
}
