package catalog

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/catalog/importer"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/fault"
)

// Run has the options of a sync.
type Run struct {
	DryRun   bool // only returns the plan
	Approved int  // removals that an administrator approved
}

// SyncSource fetches the changes of a source since the last sync and imports
// them in one transaction. A document is the whole content of its source: rows
// that it no longer has are removed. An official registry reports deleted rows.
//
// A sync that removes more than 20 % of the rows of the source, and more than were
// approved, is held: nothing is applied, and the source records the number of
// removals. SyncSource returns NOT_FOUND, CONFLICT for a source that is disabled,
// has no URL or is already being synced, and UPSTREAM_ faults. On errors no row has
// changed and the source records the error.
func (s *Store) SyncSource(ctx context.Context, id string, run Run) (importer.Plan, error) {
	source, err := sourceOf(s.db.WithContext(ctx), id)
	if err == nil {
		err = syncable(&source)
	}
	if err != nil {
		return importer.Plan{}, err
	}
	return s.sync(ctx, source, run)
}

func syncable(source *models.CatalogSource) error {
	switch {
	case source.URL == "":
		return fault.Conflict("Source %s has no URL, so it can't be synced.", source.Name)
	case !source.Enabled:
		return fault.Conflict("Source %s is disabled. Enable it first.", source.Name)
	}
	return nil
}

// ApproveRemovals syncs a source whose last sync was held, and applies it if it
// removes at most the given number of rows. It returns the errors of SyncSource,
// and CONFLICT for a source without held removals.
func (s *Store) ApproveRemovals(ctx context.Context, id string, removals int) (importer.Plan, error) {
	source, err := sourceOf(s.db.WithContext(ctx), id)
	switch {
	case err != nil:
		return importer.Plan{}, err
	case source.HeldRemovals == 0:
		return importer.Plan{}, fault.Conflict("No sync of %s waits for an approval.", source.Name)
	case removals < 1:
		return importer.Plan{}, fault.Validation(map[string]string{"removals": "must be at least 1"})
	}
	return s.SyncSource(ctx, id, Run{Approved: removals})
}

// ImportURL syncs the source with the URL and adds it if it doesn't exist. If
// the path ends in .json, it is a document in the catalog's own format,
// otherwise an official registry. It returns the errors of AddSource and
// SyncSource.
func (s *Store) ImportURL(ctx context.Context, address string, run Run) (importer.Plan, error) {
	n := NewSource{Kind: models.CatalogOfficial, URL: address}
	if u, err := url.Parse(address); err == nil && strings.HasSuffix(u.Path, ".json") {
		n.Kind = models.CatalogFile
	}
	source, err := newSource(n)
	if err != nil {
		return importer.Plan{}, err
	}
	var known models.CatalogSource
	err = s.db.WithContext(ctx).First(&known, "url = ?", source.URL).Error
	switch {
	case err == nil:
		return s.SyncSource(ctx, known.ID, run)
	case !errors.Is(err, gorm.ErrRecordNotFound):
		return importer.Plan{}, fault.Internal(err)
	case run.DryRun:
		return s.sync(ctx, source, run)
	}
	if source, err = s.AddSource(ctx, n); err != nil {
		return importer.Plan{}, err
	}
	return s.sync(ctx, source, run)
}

func (s *Store) sync(ctx context.Context, source models.CatalogSource, run Run) (importer.Plan, error) {
	if !s.begin(source.ID) {
		return importer.Plan{}, fault.Conflict("Source %s is already being synced. Retry shortly.", source.Name)
	}
	defer s.end(source.ID)
	started := s.now()
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	read, err := s.fetch(ctx, &source, run.DryRun)
	if err == nil {
		var plan importer.Plan
		if plan, err = s.apply(ctx, source, read, run, started); err == nil {
			return plan, nil
		}
	}
	if run.DryRun {
		return importer.Plan{}, err
	}
	return importer.Plan{}, errors.Join(err, s.failed(ctx, source.ID, started, err))
}

// fetch reads a source. A dry run also reads an unchanged document.
func (s *Store) fetch(ctx context.Context, row *models.CatalogSource, dryRun bool) (sources.Content, error) {
	switch {
	case row.Kind == models.CatalogOfficial:
		return s.reader.Official(ctx, row.URL, row.HighWater)
	case dryRun:
		return s.reader.File(ctx, row.URL, "")
	}
	return s.reader.File(ctx, row.URL, row.ETag)
}

// apply imports what was read from a source.
func (s *Store) apply(ctx context.Context, source models.CatalogSource, read sources.Content, run Run, started time.Time) (importer.Plan, error) {
	if read.Same {
		return s.unchanged(ctx, source.ID, started)
	}
	return s.importBatch(ctx, source, read.Batch, importRun{Run: run, capped: true, also: func(tx *gorm.DB, row *models.CatalogSource) error {
		changes := map[string]any{"started_at": started, "etag": read.ETag, "held_removals": 0, "held_at": nil}
		if mark := highWater(row.HighWater, read.HighWater); mark != nil {
			changes["high_water"] = *mark
		}
		return tx.Model(row).Updates(changes).Error
	}})
}

// unchanged records a sync of a document that is the same as before.
func (s *Store) unchanged(ctx context.Context, id string, started time.Time) (importer.Plan, error) {
	err := s.db.WithContext(ctx).Model(&models.CatalogSource{}).Where("id = ?", id).Updates(map[string]any{
		"started_at": started, "finished_at": s.now(), "succeeded": true, "error_code": "", "error_message": "",
		"added": 0, "updated": 0, "deleted": 0, "held_removals": 0, "held_at": nil,
	}).Error
	if err != nil {
		return importer.Plan{}, fault.Internal(err)
	}
	return importer.Plan{Source: id, Same: true}, nil
}

// hold records a sync that waits for an approval. The time of an equal number of
// removals stays.
func (s *Store) hold(tx *gorm.DB, source *models.CatalogSource, plan *importer.Plan) error {
	now := s.now()
	changes := map[string]any{
		"started_at": now, "finished_at": now, "succeeded": false, "error_code": "", "held_removals": plan.Deleted,
		"error_message": fmt.Sprintf("It would remove %d of %d rows, so it waits for an approval.", plan.Deleted, plan.Had),
	}
	if source.HeldAt == nil || source.HeldRemovals != int64(plan.Deleted) {
		changes["held_at"] = now
	}
	return tx.Model(source).Updates(changes).Error
}

// highWater returns the later of two times; zero means none.
func highWater(stored *time.Time, seen time.Time) *time.Time {
	if seen.IsZero() || stored != nil && !seen.After(*stored) {
		return stored
	}
	seen = seen.UTC().Truncate(time.Millisecond)
	return &seen
}

// failed records the error of a sync, even after its context has ended.
func (s *Store) failed(ctx context.Context, id string, started time.Time, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	f := fault.From(cause)
	return s.db.WithContext(ctx).Model(&models.CatalogSource{}).Where("id = ?", id).Updates(map[string]any{
		"started_at": started, "finished_at": s.now(), "succeeded": false, "error_code": string(f.Code), "error_message": sources.Clip(f.Message, sources.MaxDescription),
	}).Error
}

// imported returns the audit entry of a plan that changed something.
func imported(p *importer.Plan, source *models.CatalogSource, approved int) *activity.Entry {
	if !p.Changed() {
		return nil
	}
	detail := map[string]string{
		"added": strconv.Itoa(p.Added), "updated": strconv.Itoa(p.Updated), "deleted": strconv.Itoa(p.Deleted), "url": source.URL,
	}
	if approved > 0 {
		detail["approved"] = strconv.Itoa(approved)
	}
	return &activity.Entry{Action: "catalog.imported", Object: source.Name, ObjectID: source.ID, Detail: detail}
}

func (s *Store) begin(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.syncing[id] {
		return false
	}
	s.syncing[id] = true
	return true
}

func (s *Store) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.syncing, id)
}
