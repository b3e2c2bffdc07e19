// Package reach decides which projects the signed-in person of a request may see
// and administer in the administration.
package reach

import (
	"context"
	"slices"

	"mcpgateway/models"
	"mcpgateway/services/access/rights"
	"mcpgateway/services/toolset"
)

// Rights returns what people hold. Implemented by rights.Index.
type Rights interface {
	Held(project *models.Project, userID string) rights.Held
	MaintainsAny(userID string) bool
}

// Reach holds the projects that a caller may see and administer. Maintainers
// administer their projects, apart from what only administrators may change. The
// zero value has none. Its methods use the present grants.
type Reach struct {
	everything bool
	role       models.Role
	userID     string
	rights     Rights
}

// Everything returns the reach of the administration token, of commands and of
// the gateway itself.
func Everything() Reach { return Reach{everything: true} }

// OfPerson returns the reach of a signed-in person with a global role.
func OfPerson(userID string, role models.Role, rights Rights) Reach {
	return Reach{role: role, userID: userID, rights: rights}
}

// AdministersAll reports whether the person is an administrator.
func (r Reach) AdministersAll() bool { return r.everything || r.role == models.RoleAdmin }

// SeesAll reports whether the person may see every project and the global pages.
func (r Reach) SeesAll() bool { return r.AdministersAll() || r.role == models.RoleViewer }

// Maintains reports whether the person may administer any project by a grant.
func (r Reach) Maintains() bool { return r.rights != nil && r.rights.MaintainsAny(r.userID) }

// Administers reports whether the person may administer a project.
func (r Reach) Administers(p *models.Project) bool {
	return r.AdministersAll() || r.rights != nil && r.rights.Held(p, r.userID).Maintains
}

// Sees reports whether the person may see a project in the administration.
func (r Reach) Sees(p *models.Project) bool { return r.SeesAll() || r.Administers(p) }

// Visible returns those of the projects that the person may see.
func (r Reach) Visible(all []*toolset.Snapshot) []*toolset.Snapshot {
	return slices.DeleteFunc(slices.Clone(all), func(p *toolset.Snapshot) bool { return !r.Sees(&p.Project) })
}

// Only returns the ids of those of the projects whose records the person may see.
// It is nil without a limit.
func (r Reach) Only(all []*toolset.Snapshot) []string {
	if r.SeesAll() {
		return nil
	}
	ids := []string{}
	for _, p := range r.Visible(all) {
		ids = append(ids, p.Project.ID)
	}
	return ids
}

type contextKey struct{}

// With returns a context of requests with the reach.
func With(ctx context.Context, r Reach) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// Of returns the reach of a context. The guards of routes set it for every
// request. A context without one belongs to a command or the gateway itself.
func Of(ctx context.Context) Reach {
	if r, ok := ctx.Value(contextKey{}).(Reach); ok {
		return r
	}
	return Everything()
}
