// Package keys manages the API keys of projects: their format, their rows, and
// the in-memory index that verifies them. It also verifies the administration
// token.
package keys

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/secrets"
)

// Limits of keys and their attributes.
const (
	MaxName  = 100 // characters
	MaxGrace = 30 * 24 * time.Hour
	Max      = 1000 // usable keys per project
)

// Publisher notifies this process and others of committed changes.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Auditor records a change or a security event in the writer's transaction.
type Auditor interface {
	Record(tx *gorm.DB, e activity.Entry) error
}

// Store creates, lists, rotates and revokes the API keys of projects. Every
// change writes its audit row in the same transaction.
type Store struct {
	db    *gorm.DB
	audit Auditor
	feed  Publisher
	now   func() time.Time
}

// New returns the Store of the database. Changes are recorded in audit and
// published on feed.
func New(db *gorm.DB, audit Auditor, feed Publisher, now func() time.Time) *Store {
	return &Store{db: db, audit: audit, feed: feed, now: now}
}

// Attributes are the attributes of a key to create.
type Attributes struct {
	Name     string
	Lifetime time.Duration // 0 never expires; others are rounded to the millisecond
	Toolsets []string      // slugs of the toolsets that the key can use; nil for everything
}

// Create is CreateScoped for a key of the whole project.
func (k *Store) Create(ctx context.Context, projectID, name string, lifetime time.Duration) (models.Key, secrets.Value, error) {
	return k.CreateScoped(ctx, projectID, Attributes{Name: name, Lifetime: lifetime})
}

// CreateScoped stores a new key of the project and records key.created. It
// returns the row and the key's text, which isn't stored and can't be read
// again. It returns VALIDATION_FAILED for an invalid name, lifetime or number of
// toolsets, NOT_FOUND for an unknown toolset, and CONFLICT if the project has
// too many keys.
func (k *Store) CreateScoped(ctx context.Context, projectID string, n Attributes) (models.Key, secrets.Value, error) {
	return k.create(ctx, projectID, "", n, func(*gorm.DB) error { return nil })
}

// create stores a new key. owner is empty for a key of the project itself. check
// runs first in the same transaction, which has locked the project.
func (k *Store) create(ctx context.Context, projectID, owner string, n Attributes, check func(*gorm.DB) error) (models.Key, secrets.Value, error) {
	n.Name = strings.TrimSpace(n.Name)
	if err := n.validate(); err != nil {
		return models.Key{}, secrets.Value{}, err
	}
	var row models.Key
	var text secrets.Value
	err := k.change(ctx, projectID, func(tx *gorm.DB) (*activity.Entry, error) {
		if err := check(tx); err != nil {
			return nil, err
		}
		if err := k.checkLimit(tx, projectID); err != nil {
			return nil, err
		}
		toolsets, err := toolsetsBySlug(tx, projectID, n.Toolsets)
		if err != nil {
			return nil, err
		}
		row, text = k.newRow(models.Key{ProjectID: projectID, Name: n.Name, UserID: owner, Scope: scopeOf(n.Toolsets)}, n.Lifetime)
		if err := insert(tx, row, toolsets); err != nil {
			return nil, err
		}
		return k.entryOf(tx, "key.created", row, nil)
	})
	if err != nil {
		return models.Key{}, secrets.Value{}, err
	}
	return row, text, nil
}

func (n Attributes) validate() error {
	fields := map[string]string{}
	if utf8.RuneCountInString(n.Name) > MaxName || strings.ContainsFunc(n.Name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		fields["name"] = "Use at most 100 printable characters."
	}
	if n.Lifetime < 0 {
		fields["expires"] = "Use a positive duration, or none."
	}
	if why := toolsetsProblem(n.Toolsets); why != "" {
		fields["toolsets"] = why
	}
	if len(fields) > 0 {
		return fault.Validation(fields)
	}
	return nil
}

// List returns every key of the project, newest first.
func (k *Store) List(ctx context.Context, projectID string) ([]models.Key, error) {
	var rows []models.Key
	err := k.db.WithContext(ctx).Order("created_at DESC, id DESC").Find(&rows, "project_id = ?", projectID).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// Get returns the key with the ID, or NOT_FOUND.
func (k *Store) Get(ctx context.Context, id string) (models.Key, error) {
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

// Rotate creates the successor of a key and records key.rotated for the old
// key, with the successor's ID. The old key stays valid for grace; 0 revokes it
// immediately, and its own expiry is never extended. The successor gets the
// scope and the lifetime of the old key, regardless of the number of rotations.
// It returns NOT_FOUND for an unknown key, FORBIDDEN for a personal one, and
// CONFLICT for an expired one or if a grace would leave the project with too
// many usable keys.
func (k *Store) Rotate(ctx context.Context, projectID, id string, grace time.Duration) (models.Key, secrets.Value, error) {
	return k.rotate(ctx, projectID, id, grace, func(_ *gorm.DB, old *models.Key) error {
		if old.UserID != "" {
			return fault.Forbidden("Only its owner can rotate a personal key. You can revoke it.")
		}
		return nil
	})
}

// rotate replaces a key. check runs first in the same transaction and may
// shorten the lifetime of the successor.
func (k *Store) rotate(ctx context.Context, projectID, id string, grace time.Duration, check func(*gorm.DB, *models.Key) error) (models.Key, secrets.Value, error) {
	if grace < 0 || grace > MaxGrace {
		return models.Key{}, secrets.Value{}, fault.Validation(map[string]string{"grace": "Use 0 to 720h."})
	}
	var row models.Key
	var text secrets.Value
	err := k.change(ctx, projectID, func(tx *gorm.DB) (*activity.Entry, error) {
		old, err := k.get(tx, projectID, id)
		if err != nil {
			return nil, err
		}
		if err := check(tx, &old); err != nil {
			return nil, err
		}
		now := k.now()
		if old.RevokedAt != nil || old.ExpiresAt != nil && !now.Before(*old.ExpiresAt) {
			return nil, fault.Conflict("Key %s has expired. Create a new one.", id)
		}
		row, text = k.newRow(old, time.Duration(old.LifetimeMS)*time.Millisecond)
		if err := k.end(tx, &old, grace); err != nil {
			return nil, err
		}
		toolsets, err := toolsetsOf(tx, old.ID)
		if err != nil {
			return nil, err
		}
		if err := insert(tx, row, toolsets); err != nil {
			return nil, err
		}
		return k.entryOf(tx, actionRotated, old, map[string]string{detailSuccessor: row.ID, "grace": grace.String()})
	})
	if err != nil {
		return models.Key{}, secrets.Value{}, err
	}
	return row, text, nil
}

// end sets the expiry of a rotated key to the end of a grace, or revokes it.
func (k *Store) end(tx *gorm.DB, old *models.Key, grace time.Duration) error {
	now := k.now()
	end := map[string]any{"revoked_at": now}
	if grace > 0 {
		if err := k.checkLimit(tx, old.ProjectID); err != nil {
			return err
		}
		ends := now.Add(grace)
		if old.ExpiresAt != nil && old.ExpiresAt.Before(ends) {
			ends = *old.ExpiresAt
		}
		end = map[string]any{"expires_at": ends}
	}
	return tx.Model(&models.Key{}).Where("id = ?", old.ID).Updates(end).Error
}

// Revoke revokes a key immediately and records key.revoked. It does nothing for
// a revoked key. It returns NOT_FOUND for an unknown key.
func (k *Store) Revoke(ctx context.Context, projectID, id string) error {
	return models.Essential(k.db, func() error {
		return k.change(ctx, projectID, func(tx *gorm.DB) (*activity.Entry, error) {
			row, err := k.get(tx, projectID, id)
			if err != nil || row.RevokedAt != nil {
				return nil, err
			}
			if err := tx.Model(&models.Key{}).Where("id = ?", id).Update("revoked_at", k.now()).Error; err != nil {
				return nil, err
			}
			return k.entryOf(tx, "key.revoked", row, nil)
		})
	})
}

// Discard revokes a key immediately, deletes its row and records key.revoked. It
// returns NOT_FOUND for an unknown key.
func (k *Store) Discard(ctx context.Context, projectID, id string) error {
	return models.Essential(k.db, func() error {
		return k.change(ctx, projectID, func(tx *gorm.DB) (*activity.Entry, error) {
			row, err := k.get(tx, projectID, id)
			if err != nil {
				return nil, err
			}
			entry, err := k.entryOf(tx, "key.revoked", row, nil)
			if err != nil {
				return nil, err
			}
			return entry, tx.Delete(&models.Key{}, "id = ?", id).Error
		})
	})
}

// entryOf returns the audit entry of a key, with its name, or its first
// characters if it has none, its owner and its toolsets.
func (k *Store) entryOf(tx *gorm.DB, action string, row models.Key, detail map[string]string) (*activity.Entry, error) {
	name := row.Name
	if name == "" {
		name = row.Prefix + "…"
	}
	described, err := describe(tx, []models.Key{row})
	if err != nil {
		return nil, err
	}
	return &activity.Entry{Action: action, Object: name, ObjectID: row.ID, Detail: described[row.ID].addTo(detail)}, nil
}

func (k *Store) get(tx *gorm.DB, projectID, id string) (models.Key, error) {
	var row models.Key
	err := tx.First(&row, "id = ? AND project_id = ?", id, projectID).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, fault.NotFound("key", id)
	}
	return row, err
}

// checkLimit returns CONFLICT if the project has the maximum number of usable keys.
func (k *Store) checkLimit(tx *gorm.DB, projectID string) error {
	var usable int64
	err := tx.Model(&models.Key{}).
		Where("project_id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)", projectID, k.now()).Count(&usable).Error
	if err != nil {
		return err
	}
	if usable >= Max {
		return fault.Conflict("The project has %d usable keys, the maximum. Revoke some first.", usable)
	}
	return nil
}

// newRow returns the row and the text of a new key with the project, name, owner
// and scope of another.
func (k *Store) newRow(like models.Key, lifetime time.Duration) (models.Key, secrets.Value) {
	text := newKeyText()
	hash, _ := parseKey(text.Reveal())
	if like.UserID != "" || like.Scope != models.KeyProject {
		hash = scopedHash(text.Reveal())
	}
	row := models.Key{
		ID: uuid.Must(uuid.NewV7()).String(), ProjectID: like.ProjectID, Name: like.Name, UserID: like.UserID, Scope: like.Scope,
		Hash: hash[:], Prefix: text.Reveal()[:keyDisplayLength], CreatedAt: k.now(),
	}
	if lifetime > 0 {
		// At least 1 ms: 0 means no expiry.
		row.LifetimeMS = max(lifetime.Round(time.Millisecond).Milliseconds(), 1)
		expires := row.CreatedAt.Add(time.Duration(row.LifetimeMS) * time.Millisecond)
		row.ExpiresAt = &expires
	}
	return row, text
}

// change runs write in a transaction that locks the project, so that two
// concurrent rotations never both replace an old key. It records the returned
// entry, if any, and raises the project's keys topic. After the commit it
// publishes the topic, so that the index of this process is current when change
// returns. It returns NOT_FOUND for an unknown project.
func (k *Store) change(ctx context.Context, projectID string, write func(*gorm.DB) (*activity.Entry, error)) error {
	topic := notify.Keys(projectID)
	err := k.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var project models.Project
		err := tx.Clauses(models.LockRow(tx)...).Select("id", "slug").First(&project, "id = ?", projectID).Error
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return fault.NotFound("project", projectID)
		}
		if err != nil {
			return err
		}
		entry, err := write(tx)
		if err != nil {
			return err
		}
		if entry != nil {
			entry.Project = project.Slug
			if err := k.audit.Record(tx, *entry); err != nil {
				return err
			}
		}
		return notify.Touch(tx, topic)
	})
	if err != nil {
		return fault.From(err)
	}
	return k.feed.Publish(ctx, topic)
}
