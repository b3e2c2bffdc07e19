package importer

import (
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/catalog/changes"
	"mcpgateway/services/catalog/sources"
)

// entryKind and templateKind set the change time of rows to now. With all, rows
// that the source doesn't have are deleted.
type (
	entryKind struct {
		now time.Time
		all bool
	}
	templateKind struct {
		now time.Time
		all bool
	}
)

func (k entryKind) whole() bool { return k.all }

func (k entryKind) remember(p *Plan, id string, c Change) { p.remember(id, k.now, c) }

func (entryKind) diff(old, row *models.CatalogEntry) []changes.Member {
	return changes.OfEntry(old, row)
}

func (entryKind) template() bool { return false }

func (entryKind) stored(tx *gorm.DB) ([]*models.CatalogEntry, error) {
	var rows []*models.CatalogEntry
	err := tx.Omit("document").Find(&rows).Error
	return rows, err
}

func (entryKind) state(row *models.CatalogEntry) rowState {
	return rowState{
		id: row.ID, source: row.SourceID, name: sources.FullName(row), hash: row.ContentHash,
		deleted: row.Status == models.CatalogDeleted, locked: row.Locked, hidden: row.Hidden,
	}
}

func (k entryKind) merge(old, row *models.CatalogEntry, source, id string) {
	row.ID, row.SourceID, row.CreatedAt, row.UpdatedAt = id, source, k.now, k.now
	if old == nil {
		return
	}
	row.CreatedAt, row.Hidden = old.CreatedAt, old.Hidden
	if old.FeaturedBy != "" {
		row.Featured, row.FeaturedBy = old.Featured, old.FeaturedBy
	}
	if old.VerifiedBy != "" {
		row.Verified, row.VerifiedEvidence, row.VerifiedBy = old.Verified, old.VerifiedEvidence, old.VerifiedBy
	}
}

// markDeleted also drops the document, which was not loaded, and the hash, so that the
// row returns when its source offers it again unchanged.
func (k entryKind) markDeleted(row *models.CatalogEntry) {
	row.Status, row.ContentHash, row.Document, row.UpdatedAt = models.CatalogDeleted, "", "", k.now
}

func (k templateKind) whole() bool { return k.all }

// remember does nothing: only entries have a history.
func (templateKind) remember(*Plan, string, Change) {}

func (templateKind) diff(old, row *models.CatalogTemplate) []changes.Member {
	return changes.OfTemplate(old, row)
}

func (templateKind) template() bool { return true }

func (templateKind) stored(tx *gorm.DB) ([]*models.CatalogTemplate, error) {
	var rows []*models.CatalogTemplate
	err := tx.Find(&rows).Error
	return rows, err
}

func (templateKind) state(row *models.CatalogTemplate) rowState {
	return rowState{
		id: row.ID, source: row.SourceID, name: row.Slug, hash: row.ContentHash,
		deleted: row.Status == models.CatalogDeleted, locked: row.Locked, hidden: row.Hidden,
	}
}

func (k templateKind) merge(old, row *models.CatalogTemplate, source, id string) {
	row.ID, row.SourceID, row.UpdatedAt = id, source, k.now
	if old != nil {
		row.Hidden = old.Hidden
	}
}

func (k templateKind) markDeleted(row *models.CatalogTemplate) {
	row.Status, row.ContentHash, row.UpdatedAt = models.CatalogDeleted, "", k.now
}
