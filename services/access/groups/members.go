package groups

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// MemberInfo is a user who is a member of a group.
type MemberInfo struct {
	UserID    string
	Email     string // may be empty
	Name      string
	Local     bool       // an administrator added the user
	ClaimedAt *time.Time // the sign-in at which the provider reported the group; nil without one
	ExpiresAt *time.Time // when the membership by the claim ends or ended; nil without one
	Counts    bool       // whether the user is a member now
}

// GroupOf is a group of a user.
type GroupOf struct {
	Group
	Member MemberInfo
}

// row is a membership with its user and its group.
type row struct {
	GroupID, UserID string
	Via             models.Via
	SeenAt          time.Time
	Email, UserName string
	GroupName       string
	Claim           string
	Role            models.Role
}

// Members returns the members of a group, sorted by email address and name,
// including those whose membership has expired.
func (s *Store) Members(ctx context.Context, groupID string) ([]MemberInfo, error) {
	rows, err := s.rows(s.db.WithContext(ctx).Where("m.group_id = ?", groupID))
	return s.members(rows), err
}

// FirstMembers returns the first members of Members, at most limit, and the number of
// all.
func (s *Store) FirstMembers(ctx context.Context, groupID string, limit int) ([]MemberInfo, int, error) {
	db := s.db.WithContext(ctx)
	var total int64
	if err := db.Model(&models.GroupMember{}).Where("group_id = ?", groupID).Distinct("user_id").Count(&total).Error; err != nil {
		return nil, 0, fault.Internal(err)
	}
	rows, err := s.rows(db.Where("m.group_id = ?", groupID).Limit(2 * limit)) // a user has at most two
	first := s.members(rows)
	return first[:min(limit, len(first))], int(total), err
}

// members returns the members with the rows of one group.
func (s *Store) members(rows []row) (out []MemberInfo) {
	for _, r := range rows {
		if n := len(out); n == 0 || out[n-1].UserID != r.UserID {
			out = append(out, MemberInfo{UserID: r.UserID, Email: r.Email, Name: r.UserName})
		}
		s.add(&out[len(out)-1], r)
	}
	return out
}

// Of returns the groups of a user, sorted by name, including those whose
// membership has expired.
func (s *Store) Of(ctx context.Context, userID string) ([]GroupOf, error) {
	rows, err := s.rows(s.db.WithContext(ctx).Where("m.user_id = ?", userID))
	if err != nil {
		return nil, err
	}
	var out []GroupOf
	for _, r := range rows {
		if n := len(out); n == 0 || out[n-1].ID != r.GroupID {
			out = append(out, GroupOf{
				Group:  Group{ID: r.GroupID, Name: r.GroupName, Claim: r.Claim, Role: r.Role},
				Member: MemberInfo{UserID: r.UserID, Email: r.Email, Name: r.UserName},
			})
		}
		s.add(&out[len(out)-1].Member, r)
	}
	return out, nil
}

// rows returns the memberships that a query selects. Those of one user in one group
// are adjacent.
func (s *Store) rows(query *gorm.DB) ([]row, error) {
	var rows []row
	err := query.Table("group_members AS m").Joins(`JOIN "groups" AS g ON g.id = m.group_id`).Joins("JOIN users AS u ON u.id = m.user_id").
		Select("m.group_id, m.user_id, m.via, m.seen_at, u.email, u.name AS user_name, g.name AS group_name, g.claim, g.role").
		Order("g.name_fold, u.email_fold, m.via").Scan(&rows).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// add adds a membership to the description of a member.
func (s *Store) add(m *MemberInfo, r row) {
	if r.Via == models.ViaLocal {
		m.Local = true
	} else {
		ends := r.SeenAt.Add(s.memberships.maxAge)
		m.ClaimedAt, m.ExpiresAt = &r.SeenAt, &ends
	}
	view := View{maxAge: s.memberships.maxAge}
	m.Counts = m.Counts || view.Counts(Member{GroupID: r.GroupID, Via: r.Via, SeenAt: r.SeenAt}, s.now())
}

// AddMember adds a user to a group and records group.member_added. It does
// nothing for a user who is a local member. It returns NOT_FOUND
// for an unknown group or user and VALIDATION_FAILED beyond MaxPerUser.
func (s *Store) AddMember(ctx context.Context, groupID, userID string) error {
	return s.change(ctx, func(c *writer) error {
		group, user, err := c.lockBoth(groupID, userID)
		if err != nil {
			return err
		}
		return c.addMember(&group, &user)
	})
}

// RemoveMember removes a local member of a group and
// records group.member_removed. It does nothing for other users. A membership
// by the claim remains. It returns NOT_FOUND for an unknown group or user.
func (s *Store) RemoveMember(ctx context.Context, groupID, userID string) error {
	return s.withdraw(ctx, func(c *writer) error {
		group, user, err := c.lockBoth(groupID, userID)
		if err != nil {
			return err
		}
		return c.removeMember(&group, &user)
	})
}

func (c *writer) addMember(group *models.Group, user *models.User) error {
	var ids []string
	if err := c.tx.Model(&models.GroupMember{}).Distinct("group_id").Where("user_id = ? AND group_id <> ?", user.ID, group.ID).Pluck("group_id", &ids).Error; err != nil {
		return err
	}
	if len(ids) >= MaxPerUser {
		return fault.Validation(map[string]string{"personId": nameOf(user) + " is in 500 groups already, the maximum."})
	}
	member := models.GroupMember{GroupID: group.ID, UserID: user.ID, Via: models.ViaLocal, SeenAt: c.now()}
	result := c.tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&member)
	if result.Error != nil || result.RowsAffected == 0 {
		return result.Error
	}
	c.record("group.member_added", group, "person", nameOf(user), "personId", user.ID)
	return nil
}

func (c *writer) removeMember(group *models.Group, user *models.User) error {
	result := c.tx.Delete(&models.GroupMember{}, "group_id = ? AND user_id = ? AND via = ?", group.ID, user.ID, models.ViaLocal)
	if result.Error != nil || result.RowsAffected == 0 {
		return result.Error
	}
	c.record("group.member_removed", group, "person", nameOf(user), "personId", user.ID)
	return nil
}

func (c *writer) lockBoth(groupID, userID string) (models.Group, models.User, error) {
	group, err := c.lock(groupID)
	if err != nil {
		return group, models.User{}, err
	}
	user, err := c.lockUser(userID)
	return group, user, err
}

// lockUser returns the row of a user, locked until the transaction ends, or
// NOT_FOUND.
func (c *writer) lockUser(id string) (models.User, error) {
	var user models.User
	err := c.tx.Clauses(models.LockRow(c.tx)...).First(&user, "id = ?", id).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return user, fault.NotFound("person", id)
	}
	return user, err
}
