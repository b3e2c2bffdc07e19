package models

import "time"

// SubjectKind is the kind of subject that a ProjectGrant names.
type SubjectKind string

// The kinds of subjects.
const (
	SubjectPerson SubjectKind = "person"
	SubjectGroup  SubjectKind = "group"
)

// GrantRole is the permission of a ProjectGrant.
type GrantRole string

// The roles of grants.
const (
	GrantUse      GrantRole = "use"      // use the tools
	GrantMaintain GrantRole = "maintain" // administer the project
)

// ProjectGrant is the permission of a person or a group to use the tools of a
// toolset or, without one, of the whole project.
type ProjectGrant struct {
	ID          string `gorm:"primaryKey"`
	ProjectID   string
	SubjectKind SubjectKind
	SubjectID   string
	ToolsetID   string // empty is the whole project
	Role        GrantRole
	CreatedAt   time.Time
	CreatedBy   string // the user who granted it; empty for the administration token and files
}
