package icons

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
)

// claim reserves fetching an icon for this process. It returns the row of the
// icon: before the claim with the new time if claimed, otherwise as stored.
func (s *Icons) claim(ctx context.Context, k key, address string) (last models.CatalogIcon, claimed bool, err error) {
	now := s.Now()
	db := s.DB.WithContext(ctx)
	if last, err = s.row(db, k); err != nil {
		return last, false, err
	}
	row := models.CatalogIcon{URLHash: k.String(), URL: address, TriedAt: now, PNG: []byte{}}
	result := db.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "url_hash"}},
		DoUpdates: clause.Assignments(map[string]any{"tried_at": now}),
		Where: clause.Where{Exprs: []clause.Expression{
			clause.Expr{SQL: "catalog_icons.hash = '' AND catalog_icons.tried_at <= ?", Vars: []any{now.Add(-retryInterval)}},
		}},
	}).Create(&row)
	if result.Error != nil {
		return last, false, result.Error
	}
	if result.RowsAffected == 1 {
		last.TriedAt = now
		return last, true, nil
	}
	last, err = s.row(db, k)
	return last, false, err
}

// row returns the row of an icon without its image. An unknown one is zero.
func (s *Icons) row(db *gorm.DB, k key) (models.CatalogIcon, error) {
	var row models.CatalogIcon
	err := db.Omit("png").First(&row, "url_hash = ?", k.String()).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return models.CatalogIcon{}, nil
	}
	return row, err
}

// store stores the image of a claimed icon and returns its hash.
func (s *Icons) store(ctx context.Context, k key, png []byte) (hash string, err error) {
	sum := sha256.Sum256(png)
	hash = hex.EncodeToString(sum[:])
	return hash, s.set(ctx, k, map[string]any{"hash": hash, "png": png, "error": ""})
}

func (s *Icons) storeRefusal(ctx context.Context, k key, reason string) error {
	return s.set(ctx, k, map[string]any{"error": reason})
}

// release ends the claim of an icon, so that it is fetched again, also after the
// context has ended.
func (s *Icons) release(ctx context.Context, k key) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTimeout)
	defer cancel()
	return s.set(ctx, k, map[string]any{"tried_at": s.Now().Add(-retryInterval)})
}

func (s *Icons) set(ctx context.Context, k key, columns map[string]any) error {
	return s.DB.WithContext(ctx).Model(&models.CatalogIcon{}).Where("url_hash = ?", k.String()).Updates(columns).Error
}

// Sweep deletes the icons that no catalog row has any more, a day after they
// were fetched.
func (s *Icons) Sweep(ctx context.Context) error {
	if s == nil {
		return nil
	}
	return s.DB.WithContext(ctx).
		Where("tried_at <= ? AND url NOT IN (SELECT icon_url FROM catalog_entries)", s.Now().Add(-retryInterval)).
		Delete(&models.CatalogIcon{}).Error
}
