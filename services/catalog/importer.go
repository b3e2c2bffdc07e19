package catalog

import (
	"strconv"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/catalog/sources"
)

// batchSize is the number of rows per statement; both databases limit the
// parameters of a statement.
const batchSize = 400

// writes are the rows changed by a plan.
type writes struct {
	entries   []*models.CatalogEntry
	templates []*models.CatalogTemplate
}

// plan compares the content of a source with the stored rows.
func (s *Store) plan(tx *gorm.DB, source string, b *sources.Batch) (Plan, writes, error) {
	p := Plan{Source: source, Fetched: b.Fetched, Skipped: b.Skipped, Warnings: b.Warnings}
	var w writes
	var err error
	if len(b.Entries.Rows)+len(b.Entries.Gone) > 0 {
		if w.entries, err = planRows(tx, &p, source, &b.Entries, entryKind{now: s.now()}); err != nil {
			return p, w, err
		}
	}
	if len(b.Templates.Rows)+len(b.Templates.Gone) > 0 {
		if w.templates, err = planRows(tx, &p, source, &b.Templates, templateKind{now: s.now()}); err != nil {
			return p, w, err
		}
	}
	return p, w, nil
}

// write stores the rows of a plan.
func write(tx *gorm.DB, w writes) error {
	upsert := clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, UpdateAll: true}
	return models.LargeWrite(tx, func() error {
		if len(w.entries) > 0 {
			if err := tx.Clauses(upsert).CreateInBatches(w.entries, batchSize).Error; err != nil {
				return err
			}
		}
		if len(w.templates) > 0 {
			return tx.Clauses(upsert).CreateInBatches(w.templates, batchSize).Error
		}
		return nil
	})
}

// imported returns the audit entry of a plan that changed something.
func (p *Plan) imported(source *models.CatalogSource) *activity.Entry {
	if !p.Changed() {
		return nil
	}
	return &activity.Entry{Action: "catalog.imported", Object: source.Name, ObjectID: source.ID, Detail: map[string]string{
		"added": strconv.Itoa(p.Added), "updated": strconv.Itoa(p.Updated), "deleted": strconv.Itoa(p.Deleted), "url": source.URL,
	}}
}
