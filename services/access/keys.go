package access

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/secrets"
)

// Bounds of a key's attributes.
const (
	MaxKeyName  = 100 // characters
	MaxKeyGrace = 30 * 24 * time.Hour
	MaxKeys     = 1000 // usable keys per project
)

// Publisher tells this process and others of committed changes.
type Publisher interface {
	Published(ctx context.Context, topics ...notify.Topic) error
}

// Keys creates, lists, rotates and revokes the API keys of projects.
type Keys struct {
	db   *gorm.DB
	feed Publisher
	now  func() time.Time
}

// NewKeys returns the keys of the database; changes are announced on feed.
func NewKeys(db *gorm.DB, feed Publisher, now func() time.Time) *Keys {
	return &Keys{db: db, feed: feed, now: now}
}

// Create stores a new key of the project and returns its record and its text,
// which is not stored and cannot be had again. lifetime 0 never expires. It
// returns VALIDATION_FAILED for an unusable name or lifetime and CONFLICT
// when the project has too many keys.
func (k *Keys) Create(ctx context.Context, projectID, name string, lifetime time.Duration) (models.Key, secrets.Value, error) {
	name = strings.TrimSpace(name)
	fields := map[string]string{}
	if utf8.RuneCountInString(name) > MaxKeyName || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		fields["name"] = "use at most 100 printable characters"
	}
	if lifetime < 0 {
		fields["expires"] = "use a duration from now on, or none"
	}
	if len(fields) > 0 {
		return models.Key{}, secrets.Value{}, fault.Validation(fields)
	}
	var row models.Key
	var text secrets.Value
	err := k.change(ctx, projectID, func(tx *gorm.DB) error {
		if err := k.room(tx, projectID); err != nil {
			return err
		}
		row, text = k.newRow(projectID, name)
		if lifetime > 0 {
			expires := row.CreatedAt.Add(lifetime).Round(time.Millisecond)
			row.ExpiresAt = &expires
		}
		return tx.Create(&row).Error
	})
	if err != nil {
		return models.Key{}, secrets.Value{}, err
	}
	return row, text, nil
}

// List returns every key of the project, the newest first.
func (k *Keys) List(ctx context.Context, projectID string) ([]models.Key, error) {
	var rows []models.Key
	err := k.db.WithContext(ctx).Order("created_at DESC, id DESC").Find(&rows, "project_id = ?", projectID).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// Get returns the key with the id, or NOT_FOUND.
func (k *Keys) Get(ctx context.Context, id string) (models.Key, error) {
	var row models.Key
	err := k.db.WithContext(ctx).First(&row, "id = ?", id).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, fault.NotFound("key", id)
	}
	if err != nil {
		return row, fault.Internal(err)
	}
	return row, nil
}

// Rotate creates the successor of a key and lets the old one work for grace
// longer (0 ends it at once, and no grace outlasts the key's own end). The
// successor lives as long after its creation as the old key was given. It
// returns NOT_FOUND for an unknown key, CONFLICT for one that has ended, and
// CONFLICT when a grace would leave the project with too many usable keys.
func (k *Keys) Rotate(ctx context.Context, projectID, id string, grace time.Duration) (models.Key, secrets.Value, error) {
	if grace < 0 || grace > MaxKeyGrace {
		return models.Key{}, secrets.Value{}, fault.Validation(map[string]string{"grace": "use 0 to 720h"})
	}
	var row models.Key
	var text secrets.Value
	err := k.change(ctx, projectID, func(tx *gorm.DB) error {
		old, err := k.get(tx, projectID, id)
		if err != nil {
			return err
		}
		now := k.now()
		if old.RevokedAt != nil || old.ExpiresAt != nil && !now.Before(*old.ExpiresAt) {
			return fault.Conflict("the key %s has ended: create a new one", id)
		}
		row, text = k.newRow(projectID, old.Name)
		if old.ExpiresAt != nil {
			expires := row.CreatedAt.Add(old.ExpiresAt.Sub(old.CreatedAt))
			row.ExpiresAt = &expires
		}
		end := map[string]any{"revoked_at": now}
		if grace > 0 {
			if err := k.room(tx, projectID); err != nil {
				return err
			}
			ends := now.Add(grace)
			if old.ExpiresAt != nil && old.ExpiresAt.Before(ends) {
				ends = *old.ExpiresAt
			}
			end = map[string]any{"expires_at": ends}
		}
		if err := tx.Model(&models.Key{}).Where("id = ?", id).Updates(end).Error; err != nil {
			return err
		}
		return tx.Create(&row).Error
	})
	if err != nil {
		return models.Key{}, secrets.Value{}, err
	}
	return row, text, nil
}

// Revoke ends a key at once; a key that is already revoked stays so. It
// returns NOT_FOUND for an unknown key.
func (k *Keys) Revoke(ctx context.Context, projectID, id string) error {
	return k.change(ctx, projectID, func(tx *gorm.DB) error {
		if _, err := k.get(tx, projectID, id); err != nil {
			return err
		}
		return tx.Model(&models.Key{}).Where("id = ? AND revoked_at IS NULL", id).Update("revoked_at", k.now()).Error
	})
}

func (k *Keys) get(tx *gorm.DB, projectID, id string) (models.Key, error) {
	var row models.Key
	err := tx.First(&row, "id = ? AND project_id = ?", id, projectID).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, fault.NotFound("key", id)
	}
	return row, err
}

// room returns CONFLICT when the project may not have another usable key.
func (k *Keys) room(tx *gorm.DB, projectID string) error {
	var usable int64
	err := tx.Model(&models.Key{}).
		Where("project_id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)", projectID, k.now()).Count(&usable).Error
	if err != nil {
		return err
	}
	if usable >= MaxKeys {
		return fault.Conflict("the project already has %d usable keys: revoke some first", usable)
	}
	return nil
}

func (k *Keys) newRow(projectID, name string) (models.Key, secrets.Value) {
	text := newKeyText()
	hash, _ := parseKey(text.Reveal())
	return models.Key{
		ID: uuid.Must(uuid.NewV7()).String(), ProjectID: projectID, Name: name,
		Hash: hash[:], Prefix: text.Reveal()[:keyShown], CreatedAt: k.now(),
	}, text
}

// change runs write in a transaction that also raises the project's keys
// topic, and announces it once committed: when change returns, this process
// already judges by the new state. The changes of one project wait for each
// other, so that two rotations never both succeed an old key. It returns
// NOT_FOUND for an unknown project.
func (k *Keys) change(ctx context.Context, projectID string, write func(*gorm.DB) error) error {
	topic := notify.Keys(projectID)
	err := k.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		err := tx.Clauses(models.LockRow(tx)...).Select("id").First(&models.Project{}, "id = ?", projectID).Error
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return fault.NotFound("project", projectID)
		}
		if err != nil {
			return err
		}
		if err := write(tx); err != nil {
			return err
		}
		return notify.Touch(tx, topic)
	})
	if err != nil {
		return fault.From(err)
	}
	return k.feed.Published(ctx, topic)
}
