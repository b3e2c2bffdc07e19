// Package personal returns the projects that a person may use, and manages the
// person's own keys.
package personal

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/access/rights"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolset"
)

// Projects returns the current snapshots of projects. Implemented by
// toolset.Directory.
type Projects interface {
	All() []*toolset.Snapshot
	// ProjectByID returns nil for an unknown project.
	ProjectByID(id string) *toolset.Snapshot
}

// Rights returns what people may use. Implemented by rights.Index.
type Rights interface {
	Held(project *models.Project, userID string) rights.Held
}

// Own holds the projects that people may use, and their personal keys.
type Own struct {
	projects Projects
	rights   Rights
	keys     *keys.Store
}

// New returns the Own of the projects.
func New(projects Projects, rights Rights, keys *keys.Store) *Own {
	return &Own{projects: projects, rights: rights, keys: keys}
}

// Project is a project that a person may use.
type Project struct {
	*toolset.Snapshot
	Held rights.Held
}

// Toolsets returns the toolsets that the person may use, by slug: all of them for
// those who may use everything.
func (p Project) Toolsets() []*models.Toolset {
	var found []*models.Toolset
	for _, row := range p.ToolsetsBySlug() {
		if p.Held.Has(row.ID) {
			found = append(found, row)
		}
	}
	return found
}

// PersonalKeys reports whether the person can have keys in the project.
func (p Project) PersonalKeys() bool { return keys.Personal(&p.Project) }

// Projects returns the projects that a person may use, by name. Projects without
// authentication are not among them.
func (o *Own) Projects(userID string) []Project {
	var found []Project
	for _, snapshot := range o.projects.All() {
		if p, ok := o.held(snapshot, userID); ok {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b Project) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Project.Name), strings.ToLower(b.Project.Name)), strings.Compare(a.Project.Slug, b.Project.Slug))
	})
	return found
}

// Project returns a project that a person may use, or NOT_FOUND.
func (o *Own) Project(userID, slug string) (Project, error) {
	for _, snapshot := range o.projects.All() {
		if snapshot.Project.Slug != slug {
			continue
		}
		if p, ok := o.held(snapshot, userID); ok {
			return p, nil
		}
	}
	return Project{}, fault.NotFound("project", slug)
}

// held returns what a person holds of a project. ok is false for nothing.
func (o *Own) held(snapshot *toolset.Snapshot, userID string) (p Project, ok bool) {
	if mode := snapshot.Project.AuthMode; mode != models.AuthAPIKey && mode != models.AuthOAuth {
		return Project{}, false
	}
	p = Project{Snapshot: snapshot, Held: o.rights.Held(&snapshot.Project, userID)}
	return p, !p.Held.None()
}

// Keys returns the keys of a person that work or could work again, newest first.
func (o *Own) Keys(ctx context.Context, userID string) ([]models.Key, error) {
	return o.keys.Own(ctx, userID)
}

// CreateKey creates a key of a person for everything that the person may use, or
// for some toolsets. It returns NOT_FOUND for a project or toolset that the
// person may not use, and the errors of keys.Store.CreatePersonal.
func (o *Own) CreateKey(ctx context.Context, userID, slug string, a keys.Attributes) (models.Key, secrets.Value, error) {
	p, err := o.Project(userID, slug)
	if err != nil {
		return models.Key{}, secrets.Value{}, err
	}
	own := p.Toolsets()
	for _, wanted := range a.Toolsets {
		if !slices.ContainsFunc(own, func(t *models.Toolset) bool { return t.Slug == wanted }) {
			return models.Key{}, secrets.Value{}, fault.NotFound("toolset", wanted)
		}
	}
	return o.keys.CreatePersonal(ctx, p.Project.ID, userID, a)
}

// RotateKey replaces a person's key. It returns NOT_FOUND for another person's
// key, FORBIDDEN if the person can no longer use the project, and the errors
// of keys.Store.RotatePersonal.
func (o *Own) RotateKey(ctx context.Context, userID, id string, grace time.Duration) (models.Key, secrets.Value, error) {
	row, err := o.Key(ctx, userID, id)
	if err != nil {
		return models.Key{}, secrets.Value{}, err
	}
	snapshot := o.projects.ProjectByID(row.ProjectID)
	if snapshot == nil {
		return models.Key{}, secrets.Value{}, fault.NotFound("key", id)
	}
	if _, ok := o.held(snapshot, userID); !ok {
		return models.Key{}, secrets.Value{}, fault.Forbidden("You can no longer use this project. Ask an administrator.")
	}
	return o.keys.RotatePersonal(ctx, userID, id, grace)
}

// RevokeKey revokes a person's key. It returns NOT_FOUND for another person's.
func (o *Own) RevokeKey(ctx context.Context, userID, id string) error {
	return o.keys.RevokePersonal(ctx, userID, id)
}

// Key returns a person's key, or NOT_FOUND.
func (o *Own) Key(ctx context.Context, userID, id string) (models.Key, error) {
	return o.keys.OwnedBy(ctx, userID, id)
}

// Details returns the owners and scopes of keys.
func (o *Own) Details(ctx context.Context, rows ...models.Key) (map[string]keys.Details, error) {
	return o.keys.Details(ctx, rows...)
}
