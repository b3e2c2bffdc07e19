// Package rights holds in memory what every person may use: which toolsets of
// which project, and which projects they maintain.
package rights

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Held is the part of a project that a person may use. The zero value is nothing.
type Held struct {
	Everything bool     // the whole project
	Maintains  bool     // and may administer it
	Toolsets   []string // ids, sorted; only without Everything
}

// None reports whether the person may use nothing of the project.
func (h Held) None() bool { return !h.Everything && len(h.Toolsets) == 0 }

// Has reports whether the person may use a toolset.
func (h Held) Has(toolsetID string) bool {
	if h.Everything {
		return true
	}
	_, ok := slices.BinarySearch(h.Toolsets, toolsetID)
	return ok
}

// Groups are the groups of people.
type Groups interface {
	// Of returns the groups of a person, and the highest role that these or the
	// person's own role give.
	Of(userID string, own models.Role) (ids []string, role models.Role)
}

// Index is the in-memory index of rights. A change applies once the change feed
// delivers it; in the process that made it, before the change returns.
type Index struct {
	db     *gorm.DB
	groups Groups

	rebuild  sync.Mutex
	people   atomic.Pointer[map[string]person]         // by user id
	projects atomic.Pointer[map[string]*projectGrants] // by project id
}

type person struct {
	role    models.Role // their own
	enabled bool
}

// projectGrants are the grants of a project by user id and by group id.
type projectGrants struct {
	people, groups map[string]Held
}

// NewIndex returns an empty index. Load must be called before use. groups may
// be nil.
func NewIndex(db *gorm.DB, groups Groups) *Index {
	x := &Index{db: db, groups: groups}
	x.people.Store(&map[string]person{})
	x.projects.Store(&map[string]*projectGrants{})
	return x
}

// Load reads all people and grants from the database.
func (x *Index) Load(ctx context.Context) error {
	x.rebuild.Lock()
	defer x.rebuild.Unlock()
	if err := x.readPeople(ctx); err != nil {
		return err
	}
	projects, err := x.readGrants(ctx, "")
	if err != nil {
		return err
	}
	x.projects.Store(&projects)
	return nil
}

// Changed reloads what a topic of people or of a project's access concerns. It
// ignores other topics.
func (x *Index) Changed(ctx context.Context, topic notify.Topic) error {
	if topic.IsPeople() { // deletions of people remove their grants
		return x.Load(ctx)
	}
	id, ok := topic.AccessOf()
	if !ok {
		return nil
	}
	x.rebuild.Lock()
	defer x.rebuild.Unlock()
	read, err := x.readGrants(ctx, id)
	if err != nil {
		return err
	}
	next := maps.Clone(*x.projects.Load())
	if delete(next, id); read[id] != nil {
		next[id] = read[id]
	}
	x.projects.Store(&next)
	return nil
}

func (x *Index) readPeople(ctx context.Context) error {
	var rows []models.User
	if err := x.db.WithContext(ctx).Select("id", "role", "disabled_at").Find(&rows).Error; err != nil {
		return fault.Internal(err)
	}
	next := make(map[string]person, len(rows))
	for _, row := range rows {
		next[row.ID] = person{role: row.Role, enabled: row.DisabledAt == nil}
	}
	x.people.Store(&next)
	return nil
}

// readGrants returns the grants and members of a project, or of all.
func (x *Index) readGrants(ctx context.Context, projectID string) (map[string]*projectGrants, error) {
	db := x.db.WithContext(ctx)
	if projectID != "" {
		db = db.Where("project_id = ?", projectID)
	}
	db = db.Session(&gorm.Session{})
	var members []models.ProjectMember
	if err := db.Find(&members).Error; err != nil {
		return nil, fault.Internal(err)
	}
	var grants []models.ProjectGrant
	if err := db.Find(&grants).Error; err != nil {
		return nil, fault.Internal(err)
	}
	next := map[string]*projectGrants{}
	of := func(id string) *projectGrants {
		if next[id] == nil {
			next[id] = &projectGrants{people: map[string]Held{}, groups: map[string]Held{}}
		}
		return next[id]
	}
	for _, m := range members {
		p := of(m.ProjectID)
		p.people[m.UserID] = p.people[m.UserID].with(Held{Everything: true})
	}
	for _, g := range grants {
		subjects := of(g.ProjectID).people
		if g.SubjectKind == models.SubjectGroup {
			subjects = of(g.ProjectID).groups
		}
		subjects[g.SubjectID] = subjects[g.SubjectID].with(grantedBy(&g))
	}
	return next, nil
}

// grantedBy returns what a grant gives. A grant that this release doesn't
// understand gives nothing.
func grantedBy(g *models.ProjectGrant) Held {
	switch {
	case g.Role == models.GrantMaintain:
		return Held{Everything: true, Maintains: true}
	case g.Role != models.GrantUse:
		return Held{}
	case g.ToolsetID == "":
		return Held{Everything: true}
	default:
		return Held{Toolsets: []string{g.ToolsetID}}
	}
}

// with returns what either of both gives.
func (h Held) with(other Held) Held {
	h.Everything, h.Maintains = h.Everything || other.Everything, h.Maintains || other.Maintains
	if h.Everything {
		h.Toolsets = nil
		return h
	}
	if len(other.Toolsets) > 0 {
		h.Toolsets = slices.Concat(h.Toolsets, other.Toolsets)
		slices.Sort(h.Toolsets)
		h.Toolsets = slices.Compact(h.Toolsets)
	}
	return h
}

// Held returns what a person may use of a project: everything for
// administrators, members and maintainers, and where every user can authorize
// clients; otherwise the toolsets granted to the person and their groups.
// Unknown and disabled people hold nothing.
func (x *Index) Held(project *models.Project, userID string) Held {
	p, ok := (*x.people.Load())[userID]
	if !ok || !p.enabled {
		return Held{}
	}
	role, groups := p.role, []string(nil)
	if x.groups != nil {
		groups, role = x.groups.Of(userID, p.role)
	}
	held := Held{Everything: project.AuthMode == models.AuthOAuth && project.OAuthAccess == models.OAuthAnyone}
	if role == models.RoleAdmin {
		held = Held{Everything: true, Maintains: true}
	}
	grants := (*x.projects.Load())[project.ID]
	if grants == nil {
		return held
	}
	held = held.with(grants.people[userID])
	for _, id := range groups {
		held = held.with(grants.groups[id])
	}
	return held
}

// IsEnabled reports whether a person is known and not disabled.
func (x *Index) IsEnabled(userID string) bool { return (*x.people.Load())[userID].enabled }

// MaintainsAny reports whether a person may administer any project by a grant.
// Administrators need none.
func (x *Index) MaintainsAny(userID string) bool {
	p, ok := (*x.people.Load())[userID]
	if !ok || !p.enabled {
		return false
	}
	var groups []string
	if x.groups != nil {
		groups, _ = x.groups.Of(userID, p.role)
	}
	for _, grants := range *x.projects.Load() {
		if grants.people[userID].Maintains || slices.ContainsFunc(groups, func(id string) bool { return grants.groups[id].Maintains }) {
			return true
		}
	}
	return false
}
