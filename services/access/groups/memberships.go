// Package groups manages groups of users: their roles, their local members and
// the members that the identity provider names at each sign-in.
//
// Memberships reads from the database who is in which group, and Index holds it
// in memory. Both are evaluated with the current time, because memberships by a
// claim expire without a change.
package groups

import (
	"context"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Member is the membership of a user in a group.
type Member struct {
	GroupID string
	Via     models.Via
	SeenAt  time.Time
}

// Memberships reads memberships. A membership by a claim counts until the
// maximum age after the sign-in that reported it.
type Memberships struct{ maxAge time.Duration }

// NewMemberships returns the Memberships with the maximum age of memberships by
// a claim.
func NewMemberships(maxAge time.Duration) *Memberships { return &Memberships{maxAge: maxAge} }

// View is the groups and members at one point in time. It is immutable. Its
// zero value has no members.
type View struct {
	members map[string][]Member    // by user ID
	roles   map[string]models.Role // by group ID
	seen    []time.Time            // of the memberships by a claim, sorted
	maxAge  time.Duration
}

// Load reads the members of all groups. It returns database errors as
// INTERNAL_ERROR.
func (m *Memberships) Load(ctx context.Context, db *gorm.DB) (View, error) {
	return m.load(db.WithContext(ctx))
}

// LoadUser reads the groups of one user, with the errors of Load.
func (m *Memberships) LoadUser(ctx context.Context, db *gorm.DB, userID string) (View, error) {
	return m.load(db.WithContext(ctx).Where("m.user_id = ?", userID))
}

func (m *Memberships) load(db *gorm.DB) (View, error) {
	v := View{members: map[string][]Member{}, roles: map[string]models.Role{}, maxAge: m.maxAge}
	var rows []struct {
		GroupID, UserID string
		Via             models.Via
		SeenAt          time.Time
		Role            models.Role
	}
	err := db.Table("group_members AS m").Select("m.group_id, m.user_id, m.via, m.seen_at, g.role").
		Joins(`JOIN "groups" AS g ON g.id = m.group_id`).Order("m.group_id, m.via").Scan(&rows).Error
	if err != nil {
		return View{}, fault.Internal(err)
	}
	for _, row := range rows {
		v.members[row.UserID] = append(v.members[row.UserID], Member{GroupID: row.GroupID, Via: row.Via, SeenAt: row.SeenAt})
		v.roles[row.GroupID] = row.Role
		if row.Via == models.ViaClaim {
			v.seen = append(v.seen, row.SeenAt)
		}
	}
	slices.SortFunc(v.seen, time.Time.Compare)
	return v, nil
}

// Groups returns the sorted IDs of the groups that count for a user at the
// time.
func (v View) Groups(userID string, at time.Time) []string {
	ids := map[string]bool{}
	for _, member := range v.members[userID] {
		if v.Counts(member, at) {
			ids[member.GroupID] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// Role returns the highest of the user's own role and the roles of the groups
// that count at the time.
func (v View) Role(userID string, own models.Role, at time.Time) models.Role {
	for _, member := range v.members[userID] {
		if v.Counts(member, at) {
			own = Higher(own, v.roles[member.GroupID])
		}
	}
	return own
}

// Counts reports whether a membership counts at the time: always if it is
// local, otherwise until the maximum age after SeenAt.
func (v View) Counts(member Member, at time.Time) bool {
	return member.Via == models.ViaLocal || member.Via == models.ViaClaim && at.Before(member.SeenAt.Add(v.maxAge))
}

// Expires reports whether a membership counts at the time after and no longer at
// the later time now.
func (v View) Expires(after, now time.Time) bool {
	first, _ := slices.BinarySearchFunc(v.seen, after, func(seen, t time.Time) int {
		if seen.Add(v.maxAge).After(t) {
			return 1
		}
		return -1
	})
	return first < len(v.seen) && !now.Before(v.seen[first].Add(v.maxAge))
}

// rank orders the roles. Unknown roles rank lowest.
var rank = map[models.Role]int{models.RoleMember: 1, models.RoleViewer: 2, models.RoleAdmin: 3}

// Higher returns the role that allows more.
func Higher(a, b models.Role) models.Role {
	if rank[b] > rank[a] {
		return b
	}
	return a
}
