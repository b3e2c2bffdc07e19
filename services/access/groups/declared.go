package groups

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/locks"
	"mcpgateway/services/notify"
)

// Declared is the desired state of a group. A nil field leaves the stored value
// unchanged. Members are the email addresses of the local members, which
// replace those with an email address.
type Declared struct {
	Claim   *string
	Role    *models.Role
	Members *[]string
}

// DeclaredChange is the effect of an apply on one group. Fields names what an
// update changes.
type DeclaredChange struct {
	Name                      string
	Created, Deleted, Changed bool
	Fields                    []string
}

// Applied is the result of an apply. Its entries and topics are written at the
// end of the caller's transaction.
type Applied struct {
	Changes  []DeclaredChange
	Problems map[string]string // by name of the group, with ".FIELD" of a field
	Entries  []activity.Entry
	Topics   []notify.Topic
}

// Apply changes the stored groups to match the declaration in the caller's
// transaction. prune deletes groups that it doesn't name. If there are problems,
// the caller must roll back. It returns database errors.
func Apply(tx *gorm.DB, now func() time.Time, declared map[string]*Declared, prune bool) (Applied, error) {
	if err := locks.InTransaction(tx, lockName); err != nil {
		return Applied{}, err
	}
	a := &apply{writer: writer{tx: tx, now: now, topics: map[notify.Topic]bool{}}, stored: map[string]models.Group{}}
	a.Problems = map[string]string{}
	var rows []models.Group
	if err := tx.Order("name_fold").Find(&rows).Error; err != nil {
		return Applied{}, err
	}
	for _, row := range rows {
		a.stored[row.NameFold] = row
	}
	if err := a.run(declared, prune); err != nil {
		return Applied{}, err
	}
	a.Entries, a.Topics = a.entries, slices.Sorted(maps.Keys(a.topics))
	return a.Applied, nil
}

// apply is one apply.
type apply struct {
	writer
	Applied
	stored map[string]models.Group // by folded name
}

func (a *apply) run(declared map[string]*Declared, prune bool) error {
	names := slices.Sorted(maps.Keys(declared))
	named := map[string]bool{}
	for _, name := range names {
		named[Fold(name)] = true
	}
	for _, fold := range slices.Sorted(maps.Keys(a.stored)) {
		if row := a.stored[fold]; prune && !named[fold] {
			if err := a.delete(&row); err != nil {
				return err
			}
			a.Changes = append(a.Changes, DeclaredChange{Name: row.Name, Deleted: true})
		}
	}
	if err := a.releaseClaims(declared); err != nil {
		return err
	}
	for _, name := range names {
		if err := a.group(name, declared[name]); err != nil {
			return err
		}
	}
	return nil
}

// releaseClaims clears the stored claims that change, so that groups can
// exchange theirs.
func (a *apply) releaseClaims(declared map[string]*Declared) error {
	for name, d := range declared {
		row, found := a.stored[Fold(name)]
		if !found || d.Claim == nil || *d.Claim == row.Claim {
			continue
		}
		if err := a.tx.Model(&models.Group{}).Where("id = ?", row.ID).Update("claim", "").Error; err != nil {
			return err
		}
	}
	return nil
}

// group creates or updates one group.
func (a *apply) group(name string, d *Declared) error {
	row, found := a.stored[Fold(name)]
	change := DeclaredChange{Name: name, Created: !found}
	f := Fields{Name: &name, Claim: d.Claim, Role: d.Role}
	var err error
	if found {
		change.Fields, err = a.update(&row, f)
	} else {
		row, err = a.create(f)
	}
	if a.isProblem(name, err) {
		return nil
	}
	if err != nil {
		return err
	}
	changed, err := a.members(name, &row, d.Members)
	if err != nil {
		return err
	}
	if changed && found {
		change.Fields = append(change.Fields, "members")
	}
	change.Changed = len(change.Fields) > 0
	a.Changes = append(a.Changes, change)
	return nil
}

// isProblem adds the problems of a fault, and reports whether err is one.
func (a *apply) isProblem(name string, err error) bool {
	f := fault.From(err)
	if err == nil || f.Kind != fault.KindValidation && f.Kind != fault.KindConflict {
		return false
	}
	for field, why := range f.Fields {
		if field == "name" {
			a.Problems[name] = why
		} else {
			a.Problems[name+"."+field] = why
		}
	}
	return true
}

// members replaces the local members that have an email address and reports
// whether they changed.
func (a *apply) members(name string, row *models.Group, emails *[]string) (changed bool, err error) {
	if emails == nil {
		return false, nil
	}
	wanted := map[string]models.User{}
	for _, email := range *emails {
		var found []models.User
		if err := a.tx.Limit(1).Find(&found, "email_fold = ? AND email <> ''", Fold(email)).Error; err != nil {
			return false, err
		}
		if len(found) == 0 {
			a.Problems[name+".members"] = cmp.Or(a.Problems[name+".members"], "no user has the email address "+email)
			continue
		}
		wanted[found[0].ID] = found[0]
	}
	var present []models.User
	err = a.tx.Order("id").Find(&present, "email <> '' AND id IN (SELECT user_id FROM group_members WHERE group_id = ? AND via = ?)", row.ID, models.ViaLocal).Error
	if err != nil {
		return false, err
	}
	for _, user := range present {
		if _, keep := wanted[user.ID]; keep {
			delete(wanted, user.ID)
			continue
		}
		changed = true
		if err := a.removeMember(row, &user); err != nil {
			return false, err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		user := wanted[id]
		changed = true
		if err := a.addMember(row, &user); a.isProblem(name, err) {
			continue
		} else if err != nil {
			return false, err
		}
	}
	return changed, nil
}

// Exported returns the groups as a declaration by name, with their local
// members only if people is set. Fields that have their default are nil.
func Exported(db *gorm.DB, people bool) (map[string]*Declared, error) {
	var rows []models.Group
	if err := db.Order("name_fold").Find(&rows).Error; err != nil {
		return nil, err
	}
	names, out := map[string]string{}, map[string]*Declared{}
	for _, row := range rows {
		d := &Declared{}
		if row.Claim != "" {
			d.Claim = &row.Claim
		}
		if row.Role != "" {
			d.Role = &row.Role
		}
		names[row.ID], out[row.Name] = row.Name, d
	}
	if !people {
		return out, nil
	}
	var members []struct{ GroupID, Email string }
	err := db.Table("group_members AS m").Select("m.group_id, u.email").Joins("JOIN users AS u ON u.id = m.user_id").
		Where("m.via = ? AND u.email <> ''", models.ViaLocal).Order("u.email_fold").Scan(&members).Error
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		d := out[names[m.GroupID]]
		if d == nil {
			continue // a group that was added since
		}
		if d.Members == nil {
			d.Members = &[]string{}
		}
		*d.Members = append(*d.Members, m.Email)
	}
	return out, nil
}
