// Package views decides what a caller of a project may see and call. It is the
// only source of snapshots for the requests of MCP clients.
package views

import (
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/access/rights"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
)

// Projects returns the current snapshots of projects. Implemented by
// toolset.Directory.
type Projects interface {
	Project(slug string) (*toolset.Snapshot, error)
	// ProjectByID returns nil for an unknown project.
	ProjectByID(id string) *toolset.Snapshot
}

// Rights returns what people may use. Implemented by rights.Index.
type Rights interface {
	Held(project *models.Project, userID string) rights.Held
}

// Keys returns what API keys may use. Implemented by keys.Index.
type Keys interface {
	Scope(projectID, principal string) (scope keys.Scope, ok bool)
}

// Views are the views of all projects: the project, reduced to the toolset of
// the endpoint and to what the caller may use. A view is a snapshot, so that
// looking a name up and deciding whether the caller may use it are one step. It
// reads no database and is safe for concurrent use.
type Views struct {
	projects Projects
	rights   Rights
	keys     Keys
	cache    cache
}

// New returns the views of the projects.
func New(projects Projects, rights Rights, keys Keys) *Views {
	return &Views{projects: projects, rights: rights, keys: keys}
}

// Endpoint is an MCP endpoint of a project or of one of its toolsets. It has no
// tools: what a caller may see there is returned by Of.
type Endpoint struct {
	project *toolset.Snapshot
	toolset *models.Toolset // nil for the project's endpoint
}

// Endpoint returns the endpoint of a project or, with a slug, of its toolset. It
// returns NOT_FOUND for an unknown project or toolset.
func (v *Views) Endpoint(projectSlug, toolsetSlug string) (*Endpoint, error) {
	project, err := v.projects.Project(projectSlug)
	if err != nil {
		return nil, err
	}
	if toolsetSlug == "" {
		return &Endpoint{project: project}, nil
	}
	for _, t := range project.Toolsets {
		if t.Slug == toolsetSlug {
			return &Endpoint{project: project, toolset: t}, nil
		}
	}
	return nil, fault.NotFound("toolset", toolsetSlug)
}

// Project returns the settings of the endpoint's project.
func (e *Endpoint) Project() *models.Project { return &e.project.Project }

// Toolset returns the toolset of the endpoint, or nil.
func (e *Endpoint) Toolset() *models.Toolset { return e.toolset }

// ToolsetID returns the id of the endpoint's toolset, or "".
func (e *Endpoint) ToolsetID() string {
	if e.toolset == nil {
		return ""
	}
	return e.toolset.ID
}

// Path returns the part of the endpoint's URL between the origin and the kind
// of endpoint, such as /v1/mcp/work or /v1/mcp/work/toolsets/reader.
func (e *Endpoint) Path() string {
	path := "/v1/mcp/" + e.project.Project.Slug
	if e.toolset != nil {
		path += "/toolsets/" + e.toolset.Slug
	}
	return path
}

// Of returns the view of a caller at the endpoint. It returns UNAUTHORIZED for a
// caller who holds nothing there, like for invalid credentials.
func (v *Views) Of(e *Endpoint, caller access.Principal) (*toolset.Snapshot, error) {
	if caller.ProjectID() != e.project.Project.ID || caller.ToolsetID() != e.ToolsetID() {
		return nil, fault.Unauthorized()
	}
	return v.of(e.project, caller)
}

// Current returns the present view of a caller at the endpoint that its
// principal names. It returns UNAUTHORIZED for a caller who is no longer
// admitted, and NOT_FOUND for a deleted project or toolset.
func (v *Views) Current(caller access.Principal) (*toolset.Snapshot, error) {
	project := v.projects.ProjectByID(caller.ProjectID())
	if project == nil {
		return nil, fault.NotFound("project", caller.ProjectID())
	}
	return v.of(project, caller)
}

func (v *Views) of(project *toolset.Snapshot, caller access.Principal) (*toolset.Snapshot, error) {
	held := v.held(&project.Project, caller)
	endpoint := caller.ToolsetID()
	switch {
	case held.None():
		return nil, fault.Unauthorized()
	case endpoint != "" && project.Toolsets[endpoint] == nil:
		return nil, fault.NotFound("toolset", endpoint)
	case endpoint != "" && !held.Has(endpoint):
		return nil, fault.Unauthorized()
	}
	part := part{toolsets: held.Toolsets, everything: held.Everything, withoutPerson: project.Personal && caller.UserID() == ""}
	if endpoint != "" {
		part.toolsets, part.everything, part.endpoint = []string{endpoint}, false, endpoint
	}
	return v.cache.view(project, part), nil
}

// Held returns the view of a person with these rights at the endpoint of the
// project, to show it to an administrator.
func (v *Views) Held(project *toolset.Snapshot, held rights.Held) *toolset.Snapshot {
	return v.cache.view(project, part{toolsets: held.Toolsets, everything: held.Everything})
}

// Key returns the view of a key at the endpoint of the project, to show it to an
// administrator. It is nil if the key holds nothing there.
func (v *Views) Key(project *toolset.Snapshot, keyID string) *toolset.Snapshot {
	principal := keys.Principal(keyID)
	held := v.heldByKey(&project.Project, principal)
	if held.None() {
		return nil
	}
	scope, _ := v.keys.Scope(project.Project.ID, principal)
	return v.cache.view(project, part{toolsets: held.Toolsets, everything: held.Everything, withoutPerson: project.Personal && scope.UserID == ""})
}

// Tools returns the number of visible tools of a project, or of its toolset, that
// a person may use.
func (v *Views) Tools(projectID, toolsetID, userID string) int {
	project := v.projects.ProjectByID(projectID)
	if project == nil {
		return 0
	}
	held := v.rights.Held(&project.Project, userID)
	if toolsetID != "" {
		if !held.Has(toolsetID) {
			return 0
		}
		held = rights.Held{Toolsets: []string{toolsetID}}
	}
	return len(v.Held(project, held).Tools)
}

// held returns what a caller holds of a project now.
func (v *Views) held(project *models.Project, caller access.Principal) rights.Held {
	switch {
	case caller.IsAnonymous():
		return rights.Held{Everything: project.AuthMode == models.AuthNone}
	case caller.IsKey():
		return v.heldByKey(project, caller.ID())
	case caller.UserID() != "":
		return v.rights.Held(project, caller.UserID())
	default:
		return rights.Held{}
	}
}

// heldByKey returns what a key holds: its toolsets or the whole project, and of
// a personal key only what its owner holds. It is nothing in a project that
// doesn't accept the key, because its mode or personal keys have changed.
func (v *Views) heldByKey(project *models.Project, principal string) rights.Held {
	scope, ok := v.keys.Scope(project.ID, principal)
	if !ok || scope.UserID == "" && project.AuthMode != models.AuthAPIKey || scope.UserID != "" && !keys.Personal(project) {
		return rights.Held{}
	}
	held := rights.Held{Everything: !scope.Limited}
	if scope.Limited {
		held.Toolsets = scope.Toolsets
	}
	if scope.UserID == "" {
		return held
	}
	owner := v.rights.Held(project, scope.UserID)
	switch {
	case owner.Everything:
		return held
	case held.Everything:
		return owner
	default:
		both := slices.Clone(owner.Toolsets)
		return rights.Held{Toolsets: slices.DeleteFunc(both, func(id string) bool { return !held.Has(id) })}
	}
}

// Forget drops the cached views of a deleted project.
func (v *Views) Forget(projectID string) { v.cache.forget(projectID) }

func clip(s string) string {
	if r := []rune(s); len(r) > 64 {
		return string(r[:64]) + "…"
	}
	return strings.Clone(s)
}
