package keys

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// MaxPersonal is the maximum number of usable keys of a person in a project.
const MaxPersonal = 20

const day = 24 * time.Hour

// CreatePersonal stores a new key of a person in a project and records
// key.created. The caller must have checked that the person may use the project.
// It returns FORBIDDEN if the project has no personal keys, VALIDATION_FAILED
// for invalid attributes and for a lifetime that is missing or too long, and
// CONFLICT if the person or the project has too many keys.
func (k *Store) CreatePersonal(ctx context.Context, projectID, userID string, n Attributes) (models.Key, secrets.Value, error) {
	return k.create(ctx, projectID, userID, n, func(tx *gorm.DB) error {
		longest, err := longestPersonal(tx, projectID)
		if err != nil {
			return err
		}
		if n.Lifetime == 0 || n.Lifetime > longest {
			return fault.Validation(map[string]string{"expires": expiryRule(longest)})
		}
		return k.checkPersonalLimit(tx, projectID, userID)
	})
}

func expiryRule(longest time.Duration) string {
	return fmt.Sprintf("Personal keys of this project expire within %d days.", longest/day)
}

// longestPersonal returns the maximum lifetime of personal keys of a project, or
// FORBIDDEN if it has none.
func longestPersonal(tx *gorm.DB, projectID string) (time.Duration, error) {
	var project models.Project
	err := tx.Select("auth_mode", "personal_keys_enabled", "personal_keys_max_days").First(&project, "id = ?", projectID).Error
	if err != nil {
		return 0, err
	}
	if !Personal(&project) {
		return 0, fault.Forbidden("This project has no personal keys. Ask an administrator.")
	}
	return time.Duration(project.PersonalKeysMaxDays) * day, nil
}

// Personal reports whether people can have their own keys in a project.
func Personal(project *models.Project) bool {
	return project.PersonalKeysEnabled && (project.AuthMode == models.AuthAPIKey || project.AuthMode == models.AuthOAuth)
}

// checkPersonalLimit returns CONFLICT if a person has the maximum number of usable keys.
func (k *Store) checkPersonalLimit(tx *gorm.DB, projectID, userID string) error {
	var usable int64
	err := tx.Model(&models.Key{}).
		Where("project_id = ? AND user_id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)", projectID, userID, k.now()).Count(&usable).Error
	if err != nil {
		return err
	}
	if usable >= MaxPersonal {
		return fault.Conflict("You have %d usable keys in this project, the maximum. Revoke one first.", usable)
	}
	return nil
}

// RotatePersonal is Rotate for a person's own key. The successor lives at most
// as long as the project allows now. It returns NOT_FOUND for another person's
// key.
func (k *Store) RotatePersonal(ctx context.Context, userID, id string, grace time.Duration) (models.Key, secrets.Value, error) {
	found, err := k.OwnedBy(ctx, userID, id)
	if err != nil {
		return models.Key{}, secrets.Value{}, err
	}
	return k.rotate(ctx, found.ProjectID, id, grace, func(tx *gorm.DB, old *models.Key) error {
		longest, err := longestPersonal(tx, old.ProjectID)
		if err != nil {
			return err
		}
		if old.LifetimeMS == 0 || old.LifetimeMS > longest.Milliseconds() {
			old.LifetimeMS = longest.Milliseconds()
		}
		if grace > 0 {
			return k.checkPersonalLimit(tx, old.ProjectID, userID)
		}
		return nil
	})
}

// RevokePersonal is Revoke for a person's own key. It returns NOT_FOUND for
// another person's key.
func (k *Store) RevokePersonal(ctx context.Context, userID, id string) error {
	row, err := k.OwnedBy(ctx, userID, id)
	if err != nil {
		return err
	}
	return k.Revoke(ctx, row.ProjectID, id)
}

// Own returns the keys of a person in all projects, newest first, without
// revoked and expired ones.
func (k *Store) Own(ctx context.Context, userID string) ([]models.Key, error) {
	var rows []models.Key
	err := k.db.WithContext(ctx).Order("created_at DESC, id DESC").
		Find(&rows, "user_id = ? AND user_id <> '' AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)", userID, k.now()).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// OwnedBy returns a person's key, or NOT_FOUND.
func (k *Store) OwnedBy(ctx context.Context, userID, id string) (models.Key, error) {
	row, err := k.Get(ctx, id)
	if err == nil && (userID == "" || row.UserID != userID) {
		return models.Key{}, fault.NotFound("key", id)
	}
	return row, err
}
