package grants

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Grant is the right of a person or a group to use a project or a toolset.
type Grant struct {
	ID        string
	Kind      models.SubjectKind
	SubjectID string
	Name      string // of the person or group
	Email     string // of a person; may be empty
	Toolset   *Toolset
	Role      models.GrantRole
	CreatedAt time.Time
	CreatedBy string // the user who granted it; may be empty
}

// Toolset is the toolset of a grant. A nil *Toolset is everything.
type Toolset struct{ ID, Slug, Name string }

// memberPrefix is the prefix of the IDs of memberships, before that of the user.
const memberPrefix = "member-"

func memberID(userID string) string { return memberPrefix + userID }

func (g Grant) isMembership() bool { return strings.HasPrefix(g.ID, memberPrefix) }

func (g Grant) slug() string {
	if g.Toolset == nil {
		return ""
	}
	return g.Toolset.Slug
}

func (g Grant) label() string { return labelOf(g.Email, g.Name) }

// List returns the grants of a project: of people, by email address, and of
// groups, by name. Memberships are among them.
func (s *Store) List(ctx context.Context, projectID string) ([]Grant, error) {
	found, err := list(s.db.WithContext(ctx), projectID)
	if err != nil {
		return nil, fault.Internal(err)
	}
	return found, nil
}

// First returns the first grants of List, at most limit, and the number of all.
func (s *Store) First(ctx context.Context, projectID string, limit int) ([]Grant, int, error) {
	db := s.db.WithContext(ctx)
	var members int64
	if err := db.Model(&models.ProjectMember{}).Where("project_id = ?", projectID).Count(&members).Error; err != nil {
		return nil, 0, fault.Internal(err)
	}
	first, err := membersOf(db.Order("CASE WHEN u.email <> '' THEN u.email_fold ELSE lower(u.name) END, u.id").Limit(limit), projectID)
	if err != nil {
		return nil, 0, fault.Internal(err)
	}
	granted, err := granted(db, projectID)
	if err != nil {
		return nil, 0, fault.Internal(err)
	}
	found := slices.Concat(first, granted)
	slices.SortFunc(found, compare)
	return found[:min(limit, len(found))], int(members) + len(granted), nil
}

// list is List in a transaction.
func list(db *gorm.DB, projectID string) ([]Grant, error) {
	members, err := membersOf(db, projectID)
	if err != nil {
		return nil, err
	}
	granted, err := granted(db, projectID)
	if err != nil {
		return nil, err
	}
	found := slices.Concat(members, granted)
	slices.SortFunc(found, compare)
	return found, nil
}

// membersOf returns the grants of the members of a whole project.
func membersOf(db *gorm.DB, projectID string) ([]Grant, error) {
	var rows []struct {
		ID, Name, Email string
		CreatedAt       time.Time
	}
	err := db.Table("project_members m").Select("u.id, u.name, u.email, m.created_at").Joins("JOIN users u ON u.id = m.user_id").
		Where("m.project_id = ?", projectID).Scan(&rows).Error
	found := make([]Grant, 0, len(rows))
	for _, m := range rows {
		found = append(found, Grant{
			ID: memberID(m.ID), Kind: models.SubjectPerson, SubjectID: m.ID, Name: m.Name, Email: m.Email, Role: models.GrantUse, CreatedAt: m.CreatedAt,
		})
	}
	return found, err
}

// granted returns the grants of a project without its members.
func granted(db *gorm.DB, projectID string) ([]Grant, error) {
	var rows []struct {
		models.ProjectGrant
		UserName, UserEmail, GroupName, ToolsetSlug, ToolsetName string
	}
	err := db.Table("project_grants g").
		Select(`g.*, COALESCE(u.name, '') AS user_name, COALESCE(u.email, '') AS user_email, COALESCE(gr.name, '') AS group_name,
			COALESCE(t.slug, '') AS toolset_slug, COALESCE(t.name, '') AS toolset_name`).
		Joins("LEFT JOIN users u ON g.subject_kind = 'person' AND u.id = g.subject_id").
		Joins(`LEFT JOIN "groups" gr ON g.subject_kind = 'group' AND gr.id = g.subject_id`).
		Joins("LEFT JOIN toolsets t ON t.id = g.toolset_id").
		Where("g.project_id = ?", projectID).Scan(&rows).Error
	found := make([]Grant, 0, len(rows))
	for _, r := range rows {
		g := Grant{ID: r.ID, Kind: r.SubjectKind, SubjectID: r.SubjectID, Name: r.UserName, Email: r.UserEmail, Role: r.Role, CreatedAt: r.CreatedAt, CreatedBy: r.CreatedBy}
		if g.Kind == models.SubjectGroup {
			g.Name = r.GroupName
		}
		if r.ToolsetID != "" {
			g.Toolset = &Toolset{ID: r.ToolsetID, Slug: r.ToolsetSlug, Name: r.ToolsetName}
		}
		found = append(found, g)
	}
	return found, err
}

// compare orders grants: people before groups, by name, everything first.
func compare(a, b Grant) int {
	return cmp.Or(
		cmp.Compare(b.Kind, a.Kind), // "person" after "group"
		cmp.Compare(strings.ToLower(a.label()), strings.ToLower(b.label())), cmp.Compare(a.SubjectID, b.SubjectID),
		cmp.Compare(a.Role, b.Role), cmp.Compare(a.slug(), b.slug()),
	)
}

// Get returns a grant of a project, or NOT_FOUND.
func (s *Store) Get(ctx context.Context, projectID, id string) (Grant, error) {
	all, err := s.List(ctx, projectID)
	if err != nil {
		return Grant{}, err
	}
	for _, g := range all {
		if g.ID == id {
			return g, nil
		}
	}
	return Grant{}, fault.NotFound("access", id)
}
