// Package importer compares the content of a source with the stored rows of the
// catalog, and stores the difference.
package importer

import (
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/catalog/changes"
	"mcpgateway/services/catalog/sources"
)

// batchSize is the number of rows per statement; both databases limit the
// parameters of a statement.
const batchSize = 400

// Writes are the rows changed by a plan.
type Writes struct {
	entries   []*models.CatalogEntry
	templates []*models.CatalogTemplate
	history   []models.CatalogChange
}

// Compare returns the changes that the content of a source makes to the stored
// rows, which get the change time now. It returns PAYLOAD_TOO_LARGE for more rows
// than the catalog can have.
func Compare(tx *gorm.DB, source string, b *sources.Batch, now time.Time) (Plan, Writes, error) {
	p := Plan{Source: source, Fetched: b.Fetched, Skipped: b.Skipped, Warnings: b.Warnings}
	var w Writes
	var err error
	if b.Whole || len(b.Entries.Rows)+len(b.Entries.Gone) > 0 {
		if w.entries, err = planRows(tx, &p, source, &b.Entries, entryKind{now, b.Whole}); err != nil {
			return p, w, err
		}
	}
	if b.Whole || len(b.Templates.Rows)+len(b.Templates.Gone) > 0 {
		if w.templates, err = planRows(tx, &p, source, &b.Templates, templateKind{now, b.Whole}); err != nil {
			return p, w, err
		}
	}
	w.history, p.history = p.history, nil
	return p, w, nil
}

// Write stores the rows of a plan, and the history of changed entries.
func Write(tx *gorm.DB, w Writes) error {
	upsert := clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, UpdateAll: true}
	return models.LargeWrite(tx, func() error {
		if len(w.entries) > 0 {
			if err := tx.Clauses(upsert).CreateInBatches(w.entries, batchSize).Error; err != nil {
				return err
			}
		}
		if len(w.templates) > 0 {
			if err := tx.Clauses(upsert).CreateInBatches(w.templates, batchSize).Error; err != nil {
				return err
			}
		}
		return changes.Record(tx, w.history)
	})
}
