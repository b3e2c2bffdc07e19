package registries

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

const (
	keyPrefix     = "gwr_"
	displayLength = 8 // characters of a key that are stored for display
	// useInterval is the precision of the time at which a key was last used.
	useInterval = time.Minute
)

// NewKey are the attributes of a key to create.
type NewKey struct {
	Name     string
	Lifetime time.Duration // 0 never expires
}

func (n *NewKey) validate() error {
	n.Name = strings.TrimSpace(n.Name)
	fields := map[string]string{}
	if l := utf8.RuneCountInString(n.Name); l == 0 || l > MaxTitle || !printable(n.Name) {
		fields["name"] = "Use 1 to 100 printable characters."
	}
	if n.Lifetime < 0 || n.Lifetime > 0 && n.Lifetime < time.Second {
		fields["expires"] = "Use a time in the future, or none."
	}
	if len(fields) > 0 {
		return fault.Validation(fields)
	}
	return nil
}

// CreateKey stores a new key for all gated views and records
// catalog.key_created. It returns the row and the key's text, which isn't stored
// and can't be read again. It returns VALIDATION_FAILED for invalid attributes,
// and CONFLICT beyond MaxKeys usable keys.
func (s *Store) CreateKey(ctx context.Context, n NewKey) (models.CatalogKey, secrets.Value, error) {
	if err := n.validate(); err != nil {
		return models.CatalogKey{}, secrets.Value{}, err
	}
	text := keys.NewText(keyPrefix)
	hash, _ := keys.ParseText(keyPrefix, text.Reveal())
	row := models.CatalogKey{
		ID: uuid.Must(uuid.NewV7()).String(), Name: n.Name, Hash: hash[:], Prefix: text.Reveal()[:displayLength], CreatedAt: s.now(),
	}
	if actor := activity.ActorOf(ctx); actor.Kind == activity.ActorUser {
		row.CreatedBy = actor.ID
	}
	detail := map[string]string{}
	if n.Lifetime > 0 {
		row.ExpiresAt = new(row.CreatedAt.Add(n.Lifetime.Truncate(time.Millisecond)))
		detail["expires"] = row.ExpiresAt.Format(time.RFC3339)
	}
	err := s.change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
		var usable int64
		err := tx.Model(&models.CatalogKey{}).Where("revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)", s.now()).Count(&usable).Error
		if err != nil {
			return nil, err
		}
		if usable >= MaxKeys {
			return nil, fault.Conflict("The catalog has %d usable keys, the maximum. Revoke some first.", usable)
		}
		if err := tx.Create(&row).Error; err != nil {
			return nil, err
		}
		return &activity.Entry{Action: "catalog.key_created", Object: row.Name, ObjectID: row.ID, Detail: detail}, nil
	})
	if err != nil {
		return models.CatalogKey{}, secrets.Value{}, err
	}
	return row, text, nil
}

// Keys returns every key, newest first.
func (s *Store) Keys(ctx context.Context) ([]models.CatalogKey, error) {
	var rows []models.CatalogKey
	if err := s.db.WithContext(ctx).Order("created_at DESC, id DESC").Find(&rows).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// Key returns the key with the ID, or NOT_FOUND.
func (s *Store) Key(ctx context.Context, id string) (models.CatalogKey, error) {
	return keyOf(s.db.WithContext(ctx), id)
}

func keyOf(tx *gorm.DB, id string) (models.CatalogKey, error) {
	var row models.CatalogKey
	err := tx.First(&row, "id = ?", id).Error
	switch {
	case err == nil:
		return row, nil
	case errors.Is(err, gorm.ErrRecordNotFound):
		return row, fault.NotFound("catalog key", clip(id))
	}
	return row, fault.From(err)
}

// RevokeKey revokes a key at once and records catalog.key_revoked. It does
// nothing for a revoked key, and returns NOT_FOUND for an unknown one.
func (s *Store) RevokeKey(ctx context.Context, id string) error {
	return models.Essential(s.db, func() error {
		return s.change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
			row, err := keyOf(tx, id)
			if err != nil || row.RevokedAt != nil {
				return nil, err
			}
			if err := tx.Model(&row).Update("revoked_at", s.now()).Error; err != nil {
				return nil, err
			}
			return &activity.Entry{Action: "catalog.key_revoked", Object: row.Name, ObjectID: row.ID}, nil
		})
	})
}

// Authenticate returns nil for a usable key, and records its use. It returns the
// same UNAUTHORIZED for every other text, which it looks up only if it has the
// form of a key.
func (s *Store) Authenticate(ctx context.Context, text string) error {
	hash, ok := keys.ParseText(keyPrefix, text)
	if !ok {
		return fault.Unauthorized()
	}
	var row models.CatalogKey
	now := s.now()
	err := s.db.WithContext(ctx).First(&row, "hash = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)", hash[:], now).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return fault.Unauthorized()
	case err != nil:
		return fault.From(err)
	case row.LastUsedAt != nil && now.Sub(*row.LastUsedAt) < useInterval:
		return nil
	}
	// Without the time of its use the key still works, as on a full disk.
	_ = s.db.WithContext(ctx).Model(&models.CatalogKey{}).Where("id = ?", row.ID).Update("last_used_at", now).Error
	return nil
}
