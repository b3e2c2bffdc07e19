package catalog

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

//go:embed data/registry.json data/templates.json
var defaults embed.FS

// readDefaults returns the built-in documents and the hash of both.
func readDefaults() (documents [][]byte, hash string, err error) {
	sum := sha256.New()
	for _, name := range []string{"data/registry.json", "data/templates.json"} {
		raw, err := defaults.ReadFile(name)
		if err != nil {
			return nil, "", err
		}
		sum.Write(raw)
		documents = append(documents, raw)
	}
	return documents, hex.EncodeToString(sum.Sum(nil)), nil
}

// LoadDefaults imports the built-in data of this program, unless that was done
// before or an administrator removed it. Decisions of administrators about its
// rows stay. It is fast when there is nothing to do.
func (s *Store) LoadDefaults(ctx context.Context) error {
	documents, hash, err := readDefaults()
	if err != nil {
		return fault.Internal(err)
	}
	var source models.CatalogSource
	if err := s.db.WithContext(ctx).First(&source, "id = ?", SourceDefault).Error; err != nil {
		return fault.Internal(err)
	}
	if !source.Enabled || source.ContentHash == hash {
		return nil
	}
	whole := &sources.Batch{}
	for _, raw := range documents {
		b, err := sources.ParseFile(raw)
		if err != nil {
			return fault.Internal(err)
		}
		whole.Fetched += b.Fetched
		if len(b.Entries.Rows) > 0 {
			whole.Entries = b.Entries
		} else {
			whole.Templates = b.Templates
		}
	}
	var plan Plan
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		// Another process may have imported it in the meantime.
		if err := tx.Clauses(models.LockRow(tx)...).First(&source, "id = ?", SourceDefault).Error; err != nil {
			return err
		}
		if !source.Enabled || source.ContentHash == hash {
			return nil
		}
		var err error
		if plan, err = s.take(tx, &source, whole, hash); err != nil || !plan.Changed() {
			return err
		}
		return notify.Touch(tx, notify.Catalog())
	})
	if err != nil {
		return fault.From(err)
	}
	if !plan.Changed() {
		return nil
	}
	return s.feed.Publish(ctx, notify.Catalog())
}

// take stores the content of a source and records the sync.
func (s *Store) take(tx *gorm.DB, source *models.CatalogSource, b *sources.Batch, hash string) (Plan, error) {
	plan, rows, err := s.plan(tx, source.ID, b)
	if err != nil {
		return plan, err
	}
	if err := write(tx, rows); err != nil {
		return plan, err
	}
	now := s.now()
	return plan, tx.Model(source).Updates(map[string]any{
		"content_hash": hash, "finished_at": now, "succeeded": true, "error_code": "", "error_message": "",
		"fetched": plan.Fetched, "added": plan.Added, "updated": plan.Updated, "deleted": plan.Deleted,
	}).Error
}

// ImportFile imports a document in the catalog's own format. A dry run only
// returns the plan. It returns VALIDATION_FAILED for an invalid document and
// PAYLOAD_TOO_LARGE for a large one; then nothing has changed.
func (s *Store) ImportFile(ctx context.Context, raw []byte, dryRun bool) (Plan, error) {
	b, err := sources.ParseFile(raw)
	if err != nil {
		return Plan{}, err
	}
	source := models.CatalogSource{ID: SourceFile}
	return s.importBatch(ctx, source, b, dryRun, nil)
}

// importBatch stores the content of a source in one transaction. also makes
// further changes to the source's row.
func (s *Store) importBatch(ctx context.Context, source models.CatalogSource, b *sources.Batch, dryRun bool, also func(tx *gorm.DB, source *models.CatalogSource) error) (Plan, error) {
	var plan Plan
	if dryRun {
		err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			var err error
			plan, _, err = s.plan(tx, source.ID, b)
			return err
		}, models.ConsistentRead(s.db))
		plan.DryRun = true
		if err != nil {
			return plan, fault.From(err)
		}
		return plan, nil
	}
	err := s.change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
		if err := notFound(tx.First(&source, "id = ?", source.ID).Error, "catalog source", source.ID); err != nil {
			return nil, err
		}
		var err error
		if plan, err = s.take(tx, &source, b, source.ContentHash); err != nil {
			return nil, err
		}
		if also != nil {
			if err := also(tx, &source); err != nil {
				return nil, err
			}
		}
		return plan.imported(&source), nil
	})
	return plan, err
}
