package grants

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/declaration"
)

// Applied is the result of Apply.
type Applied struct {
	Fields   []string          // the declared keys whose content changed
	Problems map[string]string // by key and name, such as people.ann@example.com; "" is all of them
	Entries  []activity.Entry  // to record
}

// item is a grant or a membership.
type item struct {
	kind      models.SubjectKind
	subjectID string
	toolsetID string
	role      models.GrantRole
}

func (i item) isMembership() bool {
	return i.kind == models.SubjectPerson && i.toolsetID == "" && i.role == models.GrantUse
}

// applier replaces the grants of one project in a transaction.
type applier struct {
	tx       *gorm.DB
	project  *models.Project
	now      time.Time
	stored   []Grant
	toolsets map[string]string // IDs by slug
	slugs    map[string]string // and reverse
	Applied
}

// Apply replaces the grants of a project by the declared ones, in the caller's
// transaction, which has locked the project. Keys that are absent stay. The
// caller records the entries and raises the topic of the project's access. With
// problems, the caller must roll back.
func Apply(tx *gorm.DB, project *models.Project, d *declaration.Access, now time.Time) (Applied, error) {
	a := &applier{tx: tx, project: project, now: now, toolsets: map[string]string{}, slugs: map[string]string{}}
	a.Problems = map[string]string{}
	var err error
	if a.stored, err = list(tx, project.ID); err != nil {
		return a.Applied, err
	}
	var rows []models.Toolset
	if err := tx.Select("id", "slug").Find(&rows, "project_id = ?", project.ID).Error; err != nil {
		return a.Applied, err
	}
	for _, row := range rows {
		a.toolsets[row.Slug], a.slugs[row.ID] = row.ID, row.Slug
	}
	for _, part := range parts(d) {
		if part.tools == nil {
			continue
		}
		if err := a.replace(part); err != nil {
			return a.Applied, err
		}
	}
	return a.Applied, a.checkLimit()
}

// part is one key of the declaration.
type part struct {
	key   string
	kind  models.SubjectKind
	role  models.GrantRole
	tools map[string]declaration.Tools
}

func parts(d *declaration.Access) []part {
	everything := func(names *[]string) map[string]declaration.Tools {
		if names == nil {
			return nil
		}
		all := map[string]declaration.Tools{}
		for _, name := range *names {
			all[name] = declaration.Tools{Everything: true}
		}
		return all
	}
	return []part{
		{"people", models.SubjectPerson, models.GrantUse, d.People}, {"groups", models.SubjectGroup, models.GrantUse, d.Groups},
		{"maintainers", models.SubjectPerson, models.GrantMaintain, everything(d.Maintainers)},
		{"maintainerGroups", models.SubjectGroup, models.GrantMaintain, everything(d.MaintainerGroups)},
	}
}

// replace replaces the stored grants of a part.
func (a *applier) replace(p part) error {
	subjects, err := a.subjects(p)
	if err != nil {
		return err
	}
	wanted := map[item]string{} // with the names of the subjects
	for _, name := range slices.Sorted(maps.Keys(p.tools)) {
		id, known := subjects[strings.ToLower(name)]
		path := p.key + "." + name
		if !known {
			a.Problems[path] = map[models.SubjectKind]string{models.SubjectPerson: "no user has this email address", models.SubjectGroup: "no group has this name"}[p.kind]
			continue
		}
		for _, toolset := range a.toolsetIDs(path, p.tools[name]) {
			wanted[item{p.kind, id, toolset, p.role}] = name
		}
	}
	changed := false
	for _, g := range a.stored {
		if g.Kind != p.kind || g.Role != p.role {
			continue
		}
		i := item{kind: g.Kind, subjectID: g.SubjectID, role: g.Role}
		if g.Toolset != nil {
			i.toolsetID = g.Toolset.ID
		}
		if _, kept := wanted[i]; kept && (i.isMembership() == g.isMembership()) {
			delete(wanted, i)
			continue
		}
		changed = true
		if err := a.remove(g, i); err != nil {
			return err
		}
	}
	for i, name := range wanted {
		changed = true
		if err := a.insert(i, name); err != nil {
			return err
		}
	}
	if changed {
		a.Fields = append(a.Fields, "access."+p.key)
	}
	return nil
}

// subjects returns the IDs of all people or groups by their names in lower case.
func (a *applier) subjects(p part) (map[string]string, error) {
	found := map[string]string{}
	var rows []struct{ ID, Name string }
	query := a.tx.Table("users").Select("id, email_fold AS name").Where("email_fold <> ''")
	if p.kind == models.SubjectGroup {
		query = a.tx.Table("groups").Select("id, name_fold AS name")
	}
	if err := query.Scan(&rows).Error; err != nil {
		return nil, err
	}
	for _, row := range rows {
		found[row.Name] = row.ID
	}
	return found, nil
}

// toolsetIDs returns the IDs of the toolsets; "" is everything.
func (a *applier) toolsetIDs(path string, t declaration.Tools) (ids []string) {
	if t.Everything {
		return []string{""}
	}
	for _, slug := range t.Toolsets {
		id, known := a.toolsets[slug]
		if !known {
			a.Problems[path] = fmt.Sprintf("the project has no toolset %q", slug)
			continue
		}
		ids = append(ids, id)
	}
	return ids
}

func (a *applier) remove(g Grant, i item) error {
	action := "access.removed"
	query := a.tx.Where("id = ?", g.ID)
	var row any = &models.ProjectGrant{}
	if g.isMembership() {
		action, row = "member.removed", &models.ProjectMember{}
		query = a.tx.Where("project_id = ? AND user_id = ?", a.project.ID, g.SubjectID)
	}
	a.note(action, i, g.label())
	return query.Delete(row).Error
}

func (a *applier) insert(i item, name string) error {
	if i.isMembership() {
		a.note("member.added", i, name)
		return a.tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&models.ProjectMember{ProjectID: a.project.ID, UserID: i.subjectID, CreatedAt: a.now}).Error
	}
	a.note("access.granted", i, name)
	return a.tx.Create(&models.ProjectGrant{
		ID: uuid.Must(uuid.NewV7()).String(), ProjectID: a.project.ID, SubjectKind: i.kind, SubjectID: i.subjectID, ToolsetID: i.toolsetID, Role: i.role,
		CreatedAt: a.now, CreatedBy: creator(a.tx.Statement.Context),
	}).Error
}

func (a *applier) note(action string, i item, name string) {
	e := activity.Entry{Action: action, Object: name, ObjectID: i.subjectID}
	if !i.isMembership() {
		e = *entryOf(action, &models.ProjectGrant{SubjectKind: i.kind, SubjectID: i.subjectID, Role: i.role}, name, a.slugs[i.toolsetID])
	}
	e.Project = a.project.Slug
	a.Entries = append(a.Entries, e)
}

// checkLimit notes a problem if the project has too many grants.
func (a *applier) checkLimit() error {
	var n int64
	if err := a.tx.Model(&models.ProjectGrant{}).Where("project_id = ?", a.project.ID).Count(&n).Error; err != nil {
		return err
	}
	if n > Max {
		a.Problems[""] = fmt.Sprintf("a project can have at most %d grants", Max)
	}
	return nil
}

// Exported returns the declaration of a project's grants, or nil if it has none.
// people includes the people; people without an email address are left out.
func Exported(db *gorm.DB, projectID string, people bool) (*declaration.Access, error) {
	stored, err := list(db, projectID)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	d := &declaration.Access{}
	for _, g := range stored {
		switch {
		case g.Kind == models.SubjectPerson && (!people || g.Email == "") || g.label() == "":
		case g.Role == models.GrantMaintain && g.Kind == models.SubjectPerson:
			d.Maintainers = appended(d.Maintainers, g.Email)
		case g.Role == models.GrantMaintain:
			d.MaintainerGroups = appended(d.MaintainerGroups, g.Name)
		case g.Kind == models.SubjectPerson:
			d.People = with(d.People, g.Email, g)
		default:
			d.Groups = with(d.Groups, g.Name, g)
		}
	}
	return d, nil
}

func appended(names *[]string, name string) *[]string {
	if names == nil {
		return &[]string{name}
	}
	return new(append(*names, name))
}

// with adds what a grant gives to its subject. Everything includes the toolsets.
func with(m map[string]declaration.Tools, name string, g Grant) map[string]declaration.Tools {
	if m == nil {
		m = map[string]declaration.Tools{}
	}
	t := m[name]
	switch {
	case t.Everything:
	case g.Toolset == nil:
		t = declaration.Tools{Everything: true}
	default:
		t.Toolsets = append(t.Toolsets, g.Toolset.Slug)
	}
	m[name] = t
	return m
}
