package groups

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Report is the identity provider's report of a user's groups at a sign-in.
type Report struct {
	Values  []string // values of the claim; those without a group are not stored
	Overage bool     // the provider left the groups out because there are too many
}

// UsesClaims reports whether a group has a claim, so that the provider's values
// matter.
func (s *Store) UsesClaims(ctx context.Context) (bool, error) {
	var rows []models.Group
	err := s.db.WithContext(ctx).Select("id").Limit(1).Find(&rows, "claim <> ''").Error
	if err != nil {
		return false, fault.Internal(err)
	}
	return len(rows) > 0, nil
}

// Matches reports whether a group has one of the values as its claim.
func (s *Store) Matches(ctx context.Context, values []string) (bool, error) {
	rows, err := matching(s.db.WithContext(ctx), values)
	return len(rows) > 0, fromDatabase(err)
}

// matching returns the groups with one of the values as their claim, sorted by
// name. Values are compared exactly.
func matching(tx *gorm.DB, values []string) ([]models.Group, error) {
	values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return claimProblem(v) != "" || v == "" })
	if len(values) == 0 {
		return nil, nil
	}
	var rows []models.Group
	err := tx.Order("name_fold").Find(&rows, "claim IN ?", values).Error
	return rows, err
}

// Replace stores the groups that the provider reported at a user's sign-in in
// place of those of the last one. Its audit entries are person.groups_changed
// if they differ, and person.groups_overage for a report without groups because
// of their number. A user gets at most MaxPerUser groups, in the order of their
// names. It returns NOT_FOUND for an unknown user.
func (s *Store) Replace(ctx context.Context, userID string, report Report) error {
	return s.withdraw(ctx, func(c *writer) error {
		user, err := c.lockUser(userID)
		if err != nil {
			return err
		}
		if report.Overage {
			report.Values = nil
		}
		if err := c.replace(&user, report); err != nil {
			return err
		}
		if user.GroupsOverage != report.Overage {
			if err := c.tx.Model(&models.User{}).Where("id = ?", user.ID).Update("groups_overage", report.Overage).Error; err != nil {
				return err
			}
		}
		if report.Overage {
			c.recordOf("person.groups_overage", nameOf(&user), user.ID)
		}
		return nil
	})
}

// replace stores the groups of the values as the claim's groups of a user.
func (c *writer) replace(user *models.User, report Report) error {
	found, err := matching(c.tx, report.Values)
	if err != nil {
		return err
	}
	var rows []models.GroupMember
	if err := c.tx.Find(&rows, "user_id = ?", user.ID).Error; err != nil {
		return err
	}
	local, before := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		if r.Via == models.ViaLocal {
			local[r.GroupID] = true
		} else {
			before[r.GroupID] = true
		}
	}
	now, names := map[string]bool{}, map[string]string{}
	others, omitted := len(local), 0
	for _, g := range found {
		switch {
		case local[g.ID]:
		case others < MaxPerUser:
			others++
		default:
			omitted++
			continue
		}
		now[g.ID], names[g.ID] = true, g.Name
	}
	if len(before) == 0 && len(now) == 0 {
		return nil
	}
	if err := c.store(user.ID, now); err != nil {
		return err
	}
	return c.recordDifference(user, before, now, names, omitted)
}

// store replaces the rows of the claim's groups of a user.
func (c *writer) store(userID string, ids map[string]bool) error {
	at := c.now()
	var rows []models.GroupMember
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		rows = append(rows, models.GroupMember{GroupID: id, UserID: userID, Via: models.ViaClaim, SeenAt: at})
	}
	if err := c.tx.Delete(&models.GroupMember{}, "user_id = ? AND via = ?", userID, models.ViaClaim).Error; err != nil {
		return err
	}
	c.topics[notify.People()] = true // the time of the sign-in counts, even if the groups are the same
	if len(rows) == 0 {
		return nil
	}
	return c.tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&rows).Error
}

// recordDifference records the groups that a sign-in added and removed, if any.
// names holds the names of the groups in now.
func (c *writer) recordDifference(user *models.User, before, now map[string]bool, names map[string]string, omitted int) error {
	var gone []string
	for id := range before {
		if !now[id] {
			gone = append(gone, id)
		}
	}
	var added []string
	for id := range now {
		if !before[id] {
			added = append(added, names[id])
		}
	}
	if len(added)+len(gone) == 0 {
		return nil
	}
	var removed []string
	if len(gone) > 0 {
		if err := c.tx.Model(&models.Group{}).Where("id IN ?", gone).Pluck("name", &removed).Error; err != nil {
			return err
		}
	}
	slices.Sort(added)
	slices.Sort(removed)
	detail := []string{"added", strings.Join(added, ", "), "removed", strings.Join(removed, ", ")}
	if omitted > 0 {
		detail = append(detail, "omitted", strconv.Itoa(omitted))
	}
	c.recordOf("person.groups_changed", nameOf(user), user.ID, detail...)
	return nil
}

func fromDatabase(err error) error {
	if err == nil {
		return nil
	}
	return fault.Internal(err)
}
