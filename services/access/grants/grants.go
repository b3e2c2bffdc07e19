// Package grants manages who may use a project and its toolsets: grants of people
// and groups. Members of a whole project are those of access.Users, and appear
// here as grants of everything.
package grants

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Max is the maximum number of grants of a project, without its members.
const Max = 1000

// Publisher notifies this process and others of committed changes.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Auditor records a change in the writer's transaction.
type Auditor interface {
	Record(tx *gorm.DB, e activity.Entry) error
}

// Members are the people who may use a whole project. Implemented by
// access.Users.
type Members interface {
	AddMember(ctx context.Context, projectID, userID string) error
	RemoveMember(ctx context.Context, projectID, userID string) error
}

// Store lists, adds and removes grants. Every change writes its audit row in the
// same transaction and applies from the next request.
type Store struct {
	db      *gorm.DB
	audit   Auditor
	feed    Publisher
	members Members
	now     func() time.Time
}

// New returns the Store of the database. Changes are recorded in audit and
// published on feed.
func New(db *gorm.DB, audit Auditor, feed Publisher, members Members, now func() time.Time) *Store {
	return &Store{db: db, audit: audit, feed: feed, members: members, now: now}
}

// Request is a grant to add.
type Request struct {
	PersonID, GroupID string           // one of them
	Toolset           string           // slug; empty for everything
	Role              models.GrantRole // empty is GrantUse
}

// subject returns the subject of the grant.
func (r Request) subject() (kind models.SubjectKind, id string) {
	if r.GroupID != "" {
		return models.SubjectGroup, r.GroupID
	}
	return models.SubjectPerson, r.PersonID
}

// validate returns VALIDATION_FAILED for a request without one subject, with an
// unknown role, or to maintain only a part of a project.
func (r Request) validate() error {
	fields := map[string]string{}
	if (r.PersonID == "") == (r.GroupID == "") {
		fields["personId"] = "Name either a person or a group."
	}
	switch r.Role {
	case models.GrantUse:
	case models.GrantMaintain:
		if r.Toolset != "" {
			fields["toolset"] = "Maintainers can use everything: leave out the toolset."
		}
	default:
		fields["role"] = "Use one of use, maintain."
	}
	if len(fields) > 0 {
		return fault.Validation(fields)
	}
	return nil
}

// Add adds a grant, records access.granted and returns it. Everything for a
// person is a membership, with member.added. It returns an existing grant
// unchanged. It returns VALIDATION_FAILED for an invalid request and for more
// than Max grants, and NOT_FOUND for an unknown project, person, group or
// toolset.
func (s *Store) Add(ctx context.Context, projectID string, r Request) (Grant, error) {
	if r.Role == "" {
		r.Role = models.GrantUse
	}
	if err := r.validate(); err != nil {
		return Grant{}, err
	}
	if r.PersonID != "" && r.Toolset == "" && r.Role == models.GrantUse {
		if err := s.members.AddMember(ctx, projectID, r.PersonID); err != nil {
			return Grant{}, err
		}
		return s.Get(ctx, projectID, memberID(r.PersonID))
	}
	var id string
	err := s.change(ctx, projectID, func(tx *gorm.DB) (_ *activity.Entry, err error) {
		var entry *activity.Entry
		id, entry, err = s.add(tx, projectID, r)
		return entry, err
	})
	if err != nil {
		return Grant{}, err
	}
	return s.Get(ctx, projectID, id)
}

// add returns the ID of a new grant with its audit entry, or that of an existing
// one without.
func (s *Store) add(tx *gorm.DB, projectID string, r Request) (string, *activity.Entry, error) {
	kind, subjectID := r.subject()
	name, err := nameOf(tx, kind, subjectID)
	if err != nil {
		return "", nil, err
	}
	toolsetID, err := toolsetID(tx, projectID, r.Toolset)
	if err != nil {
		return "", nil, err
	}
	var existing []models.ProjectGrant
	row := models.ProjectGrant{
		ID: uuid.Must(uuid.NewV7()).String(), ProjectID: projectID, SubjectKind: kind, SubjectID: subjectID, ToolsetID: toolsetID, Role: r.Role,
		CreatedAt: s.now(), CreatedBy: creator(tx.Statement.Context),
	}
	err = tx.Limit(1).Find(&existing, "project_id = ? AND subject_kind = ? AND subject_id = ? AND toolset_id = ? AND role = ?", projectID, kind, subjectID, toolsetID, r.Role).Error
	if err != nil {
		return "", nil, err
	}
	if len(existing) > 0 {
		return existing[0].ID, nil, nil
	}
	var n int64
	if err := tx.Model(&models.ProjectGrant{}).Where("project_id = ?", projectID).Count(&n).Error; err != nil {
		return "", nil, err
	}
	if n >= Max {
		return "", nil, fault.Validation(map[string]string{"(body)": "The project has 1,000 grants, the maximum. Use groups, or remove some first."})
	}
	return row.ID, entryOf("access.granted", &row, name, r.Toolset), tx.Create(&row).Error
}

// Remove removes a grant and records access.removed, or member.removed. It
// returns NOT_FOUND for an unknown grant.
func (s *Store) Remove(ctx context.Context, projectID, id string) error {
	found, err := s.Get(ctx, projectID, id)
	if err != nil {
		return err
	}
	if found.isMembership() {
		return s.members.RemoveMember(ctx, projectID, found.SubjectID)
	}
	return models.Essential(s.db, func() error {
		return s.change(ctx, projectID, func(tx *gorm.DB) (*activity.Entry, error) {
			result := tx.Delete(&models.ProjectGrant{}, "id = ? AND project_id = ?", id, projectID)
			if result.Error != nil || result.RowsAffected == 0 {
				return nil, result.Error
			}
			row := models.ProjectGrant{SubjectKind: found.Kind, SubjectID: found.SubjectID, Role: found.Role}
			return entryOf("access.removed", &row, found.label(), found.slug()), nil
		})
	})
}

// entryOf returns the audit entry of a grant. slug is that of its toolset, or
// empty.
func entryOf(action string, row *models.ProjectGrant, subject, slug string) *activity.Entry {
	scope := "project"
	if slug != "" {
		scope = "toolset " + slug
	}
	return &activity.Entry{
		Action: action, Object: subject, ObjectID: row.SubjectID,
		Detail: map[string]string{"subject": string(row.SubjectKind), "tools": scope, "role": string(row.Role)},
	}
}

// creator returns the user who makes a change, or "".
func creator(ctx context.Context) string {
	if actor := activity.ActorOf(ctx); actor.Kind == activity.ActorUser {
		return actor.ID
	}
	return ""
}

// nameOf returns the display name of a person or group, or NOT_FOUND.
func nameOf(tx *gorm.DB, kind models.SubjectKind, id string) (string, error) {
	if kind == models.SubjectGroup {
		var group models.Group
		err := tx.Select("name").First(&group, "id = ?", id).Error
		return group.Name, notFound(err, "group", id)
	}
	var user models.User
	err := tx.Select("email", "name").First(&user, "id = ?", id).Error
	return labelOf(user.Email, user.Name), notFound(err, "person", id)
}

func labelOf(email, name string) string {
	if email == "" {
		return name
	}
	return email
}

// toolsetID returns the ID of the toolset with the slug, "" for no slug, or
// NOT_FOUND.
func toolsetID(tx *gorm.DB, projectID, slug string) (string, error) {
	if slug == "" {
		return "", nil
	}
	var row models.Toolset
	err := tx.Select("id").First(&row, "project_id = ? AND slug = ?", projectID, slug).Error
	return row.ID, notFound(err, "toolset", slug)
}

func notFound(err error, thing, name string) error {
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return fault.NotFound(thing, name)
	}
	return err
}

// change runs write in a transaction that locks the project, records the entry
// it returns, if any, and raises the topic of the project's access. It returns
// NOT_FOUND for an unknown project.
func (s *Store) change(ctx context.Context, projectID string, write func(*gorm.DB) (*activity.Entry, error)) error {
	topic := notify.Access(projectID)
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var project models.Project
		err := tx.Clauses(models.LockRow(tx)...).Select("id", "slug").First(&project, "id = ?", projectID).Error
		if err != nil {
			return notFound(err, "project", projectID)
		}
		entry, err := write(tx)
		if err != nil || entry == nil {
			return err
		}
		entry.Project = project.Slug
		if err := s.audit.Record(tx, *entry); err != nil {
			return err
		}
		return notify.Touch(tx, topic)
	})
	if err != nil {
		return fault.From(err)
	}
	return s.feed.Publish(ctx, topic)
}
