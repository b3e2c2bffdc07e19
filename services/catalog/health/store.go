package health

import (
	"context"
	"errors"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// store stores the result of a check. also runs in the same transaction and may
// be nil. It returns NOT_FOUND if the row was removed in the meantime.
func (c *Checker) store(ctx context.Context, entryID string, f found, also func(*gorm.DB, *models.CatalogCheck) error) (*models.CatalogCheck, error) {
	var check *models.CatalogCheck
	err := c.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var rows []models.CatalogCheck
		if err := tx.Clauses(models.LockRow(tx)...).Find(&rows, "entry_id = ?", entryID).Error; err != nil {
			return err
		}
		last := models.CatalogCheck{EntryID: entryID}
		if len(rows) > 0 {
			last = rows[0]
		}
		check = next(last, f, c.Now())
		if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(check).Error; err != nil {
			return err
		}
		if also == nil {
			return nil
		}
		return also(tx, check)
	})
	if errors.Is(err, gorm.ErrForeignKeyViolated) {
		return nil, fault.NotFound("catalog entry", entryID)
	}
	if err != nil {
		return nil, fault.From(err)
	}
	return check, nil
}

// next returns the check after another one. A failed check keeps the tools that
// were last seen; a server that now requires authentication shows none.
func next(last models.CatalogCheck, f found, now time.Time) *models.CatalogCheck {
	check := &models.CatalogCheck{EntryID: last.EntryID, CheckedAt: now, State: f.state, Revision: f.revision, Message: f.message, Tools: f.tools}
	if f.state != models.CheckFailed {
		return check
	}
	check.Revision, check.Tools = last.Revision, slices.Clone(last.Tools)
	if check.FailingSince = last.FailingSince; check.FailingSince == nil {
		check.FailingSince = &now
	}
	return check
}

// due is a server to check.
type due struct {
	id        string
	checkedAt *time.Time // nil if never
	servers   int        // of the catalog that are checked
}

// due returns the visible remote server that was not checked for the longest
// time. Without servers its id is empty.
func (c *Checker) due(ctx context.Context) (due, error) {
	var row struct {
		ID        string
		CheckedAt *time.Time
	}
	var count int64
	servers := c.DB.WithContext(ctx).Model(&models.CatalogEntry{}).
		Where("remote_url <> '' AND server_type IN ? AND NOT hidden AND status <> ?", []string{"http", "sse"}, models.CatalogDeleted)
	if err := servers.Session(&gorm.Session{}).Count(&count).Error; err != nil || count == 0 {
		return due{}, err
	}
	err := servers.Joins("LEFT JOIN catalog_checks ON catalog_checks.entry_id = catalog_entries.id").
		Select("catalog_entries.id, catalog_checks.checked_at").
		Order("catalog_checks.checked_at IS NOT NULL, catalog_checks.checked_at, catalog_entries.id").Limit(1).Find(&row).Error
	return due{row.ID, row.CheckedAt, int(count)}, err
}
