package catalog

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"slices"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/catalog/importer"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

//go:embed data/registry.json data/templates.json data/needs.json
var defaults embed.FS

// builtIn is the built-in data.
type builtIn struct {
	documents [][]byte          // in the catalog's own format
	needs     map[string]string // what users add to the command line, by identifier of a package
	hash      string            // of all
}

// readDefaults returns the built-in data.
func readDefaults() (builtIn, error) {
	var b builtIn
	sum := sha256.New()
	for _, name := range []string{"data/registry.json", "data/templates.json", "data/needs.json"} {
		raw, err := defaults.ReadFile(name)
		if err != nil {
			return b, err
		}
		sum.Write(raw)
		b.documents = append(b.documents, raw)
	}
	last := len(b.documents) - 1
	err := json.Unmarshal(b.documents[last], &b.needs)
	b.documents, b.hash = b.documents[:last], hex.EncodeToString(sum.Sum(nil))
	return b, err
}

// complete adds what users add to the command lines of an entry's packages.
func (b builtIn) complete(row *models.CatalogEntry) {
	packages := slices.Clone(row.AllPackages())
	for i, p := range packages {
		if needs := b.needs[p.Identifier]; needs != "" {
			packages[i].Needs = needs
			row.Packages = packages
			row.ContentHash += "+"
		}
	}
}

// LoadDefaults imports the built-in data of this program, unless that was done
// before or an administrator removed it. Decisions of administrators about its
// rows stay. It is fast when there is nothing to do.
func (s *Store) LoadDefaults(ctx context.Context) error {
	data, err := readDefaults()
	if err != nil {
		return fault.Internal(err)
	}
	hash := data.hash
	var source models.CatalogSource
	if err := s.db.WithContext(ctx).First(&source, "id = ?", SourceDefault).Error; err != nil {
		return fault.Internal(err)
	}
	if !source.Enabled || source.ContentHash == hash {
		return nil
	}
	whole := &sources.Batch{}
	for _, raw := range data.documents {
		b, err := sources.ParseFile(raw)
		if err != nil {
			return fault.Internal(err)
		}
		whole.Fetched += b.Fetched
		for _, row := range b.Entries.Rows {
			data.complete(row)
		}
		if len(b.Entries.Rows) > 0 {
			whole.Entries = b.Entries
		} else {
			whole.Templates = b.Templates
		}
	}
	var plan importer.Plan
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
func (s *Store) take(tx *gorm.DB, source *models.CatalogSource, b *sources.Batch, hash string) (importer.Plan, error) {
	plan, rows, err := importer.Compare(tx, source.ID, b, s.now())
	if err != nil {
		return plan, err
	}
	return plan, s.store(tx, source, &plan, rows, hash)
}

func (s *Store) store(tx *gorm.DB, source *models.CatalogSource, plan *importer.Plan, rows importer.Writes, hash string) error {
	if err := importer.Write(tx, rows); err != nil {
		return err
	}
	return tx.Model(source).Updates(map[string]any{
		"content_hash": hash, "finished_at": s.now(), "succeeded": true, "error_code": "", "error_message": "",
		"fetched": plan.Fetched, "added": plan.Added, "updated": plan.Updated, "deleted": plan.Deleted,
	}).Error
}

// ImportFile imports a document in the catalog's own format. A dry run only
// returns the plan. It returns VALIDATION_FAILED for an invalid document and
// PAYLOAD_TOO_LARGE for a large one; then nothing has changed. Rows that a document
// lacks stay, because every import adds to the same source.
func (s *Store) ImportFile(ctx context.Context, raw []byte, dryRun bool) (importer.Plan, error) {
	b, err := sources.ParseFile(raw)
	if err != nil {
		return importer.Plan{}, err
	}
	source := models.CatalogSource{ID: SourceFile}
	return s.importBatch(ctx, source, b, importRun{Run: Run{DryRun: dryRun}})
}

// importRun is an import of one batch.
type importRun struct {
	Run
	capped bool // it is held if it removes too many rows
	also   func(tx *gorm.DB, source *models.CatalogSource) error
}

// holds reports whether a plan needs an approval that the run doesn't have.
func (r importRun) holds(p *importer.Plan) bool {
	return r.capped && p.RemovesTooMany() && p.Deleted > r.Approved
}

// importBatch stores the content of a source in one transaction. run.also makes
// further changes to the source's row.
func (s *Store) importBatch(ctx context.Context, source models.CatalogSource, b *sources.Batch, run importRun) (importer.Plan, error) {
	var plan importer.Plan
	if run.DryRun {
		err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			var err error
			plan, _, err = importer.Compare(tx, source.ID, b, s.now())
			return err
		}, models.ConsistentRead(s.db))
		plan.DryRun, plan.Held = true, run.holds(&plan)
		if err != nil {
			return plan, fault.From(err)
		}
		return plan, nil
	}
	err := s.Change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
		if err := notFound(tx.First(&source, "id = ?", source.ID).Error, "catalog source", source.ID); err != nil {
			return nil, err
		}
		var rows importer.Writes
		var err error
		if plan, rows, err = importer.Compare(tx, source.ID, b, s.now()); err != nil {
			return nil, err
		}
		if plan.Held = run.holds(&plan); plan.Held {
			return nil, s.hold(tx, &source, &plan)
		}
		if err := s.store(tx, &source, &plan, rows, source.ContentHash); err != nil {
			return nil, err
		}
		if run.also != nil {
			if err := run.also(tx, &source); err != nil {
				return nil, err
			}
		}
		return imported(&plan, &source, run.Approved), nil
	})
	return plan, err
}
