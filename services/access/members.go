package access

import (
	"cmp"
	"context"
	"errors"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

// Members returns the members of a project, sorted by email address.
func (p *Users) Members(ctx context.Context, projectID string) ([]User, error) {
	var rows []models.User
	err := p.db.WithContext(ctx).Order("email_fold").
		Find(&rows, "id IN (SELECT user_id FROM project_members WHERE project_id = ?)", projectID).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	return p.personsOf(ctx, rows)
}

// IsMember reports whether a user is a member of a project.
func (p *Users) IsMember(ctx context.Context, projectID, userID string) (bool, error) {
	err := p.db.WithContext(ctx).First(&models.ProjectMember{}, "project_id = ? AND user_id = ?", projectID, userID).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return false, nil
	}
	return err == nil, fromTransaction(err)
}

// AddMember adds a user to a project's members and records it. It does nothing
// for an existing member. It returns NOT_FOUND for an unknown project or user.
func (p *Users) AddMember(ctx context.Context, projectID, userID string) error {
	return p.changeMember(ctx, projectID, userID, "member.added", func(tx *gorm.DB) *gorm.DB {
		return tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&models.ProjectMember{ProjectID: projectID, UserID: userID, CreatedAt: p.now()})
	})
}

// RemoveMember removes a user from a project's members and records it. It does
// nothing for other users. It returns NOT_FOUND for an unknown project or user.
func (p *Users) RemoveMember(ctx context.Context, projectID, userID string) error {
	return p.changeMember(ctx, projectID, userID, "member.removed", func(tx *gorm.DB) *gorm.DB {
		return tx.Delete(&models.ProjectMember{}, "project_id = ? AND user_id = ?", projectID, userID)
	})
}

func (p *Users) changeMember(ctx context.Context, projectID, userID, action string, write func(*gorm.DB) *gorm.DB) error {
	return p.withdraw(ctx, func(tx *gorm.DB) error {
		var project models.Project
		err := tx.Select("id", "slug").First(&project, "id = ?", projectID).Error
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return fault.NotFound("project", projectID)
		}
		if err != nil {
			return err
		}
		user, err := userByID(tx, userID)
		if err != nil {
			return err
		}
		result := write(tx)
		if result.Error != nil || result.RowsAffected == 0 {
			return result.Error
		}
		return p.audit.Record(tx, activity.Entry{Action: action, Object: cmp.Or(user.Email, user.Name), ObjectID: user.ID, Project: project.Slug})
	})
}
