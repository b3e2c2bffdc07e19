package catalog

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
)

// NewSource describes a source to add. Name may be empty.
type NewSource struct {
	Kind models.CatalogSourceKind
	Name string
	URL  string // URL of the registry without /v0.1, or of a document in the catalog's own format
}

// Sources returns the sources of the catalog, the built-in ones first.
func (s *Store) Sources(ctx context.Context) ([]models.CatalogSource, error) {
	var rows []models.CatalogSource
	if err := s.db.WithContext(ctx).Order("created_at, id").Find(&rows).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// AddSource stores a source without syncing it. It returns VALIDATION_FAILED
// for an invalid one, and CONFLICT if another source has its URL or there are
// too many.
func (s *Store) AddSource(ctx context.Context, n NewSource) (models.CatalogSource, error) {
	row, err := newSource(n)
	if err != nil {
		return row, err
	}
	row.CreatedAt = s.now()
	err = s.change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
		var count int64
		if err := tx.Model(&models.CatalogSource{}).Count(&count).Error; err != nil {
			return nil, err
		}
		if count >= maxSources {
			return nil, fault.Conflict("The catalog already has the maximum of %d sources. Remove one first.", count)
		}
		if err := tx.Create(&row).Error; err != nil {
			if errors.Is(err, gorm.ErrDuplicatedKey) {
				return nil, fault.Conflict("There is already a source with this URL.")
			}
			return nil, err
		}
		return sourceEntry("catalog.source_added", &row), nil
	})
	return row, err
}

func newSource(n NewSource) (models.CatalogSource, error) {
	address := strings.TrimSuffix(strings.TrimSpace(n.URL), "/")
	if n.Kind == models.CatalogOfficial {
		address = strings.TrimSuffix(strings.TrimSuffix(address, sources.OfficialPath), "/v0.1")
	}
	fields := map[string]string{}
	u, err := url.Parse(address)
	switch {
	case n.Kind != models.CatalogOfficial && n.Kind != models.CatalogFile:
		fields["kind"] = "use official or file"
	case egress.CheckURL(address) != nil:
		fields["url"] = fault.From(egress.CheckURL(address)).Message
	case err != nil || n.Kind == models.CatalogOfficial && u.RawQuery != "":
		fields["url"] = "use the registry's URL without a query"
	}
	if len(fields) > 0 {
		return models.CatalogSource{}, fault.Validation(fields)
	}
	name := cmp.Or(sources.Clean(n.Name, maxSourceName), sources.Clean(u.Host, maxSourceName))
	return models.CatalogSource{ID: uuid.Must(uuid.NewV7()).String(), Kind: n.Kind, Name: name, URL: address, Enabled: true}, nil
}

func sourceEntry(action string, row *models.CatalogSource) *activity.Entry {
	return &activity.Entry{Action: action, Object: row.Name, ObjectID: row.ID, Detail: map[string]string{"kind": string(row.Kind), "url": row.URL}}
}

// EnableSource sets whether a source can be synced. Its rows stay in either
// case. Enabling the built-in data restores it. It returns NOT_FOUND for an
// unknown source.
func (s *Store) EnableSource(ctx context.Context, id string, enabled bool) error {
	err := s.change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
		row, err := sourceOf(tx, id)
		if err != nil || row.Enabled == enabled {
			return nil, err
		}
		action := "catalog.source_disabled"
		if enabled {
			action = "catalog.source_enabled"
		}
		return sourceEntry(action, &row), tx.Model(&row).Update("enabled", enabled).Error
	})
	if err != nil || id != SourceDefault {
		return err
	}
	return s.LoadDefaults(ctx)
}

// RemoveSource removes a source and its rows. Of the two permanent sources only
// the rows are removed, and the built-in data isn't loaded again until that
// source is enabled. It returns NOT_FOUND for an unknown source.
func (s *Store) RemoveSource(ctx context.Context, id string) error {
	return s.change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
		row, err := sourceOf(tx, id)
		if err != nil {
			return nil, err
		}
		for _, rows := range []any{&models.CatalogEntry{}, &models.CatalogTemplate{}} {
			if err := tx.Delete(rows, "source_id = ?", id).Error; err != nil {
				return nil, err
			}
		}
		switch id {
		case SourceDefault:
			err = tx.Model(&row).Updates(map[string]any{"enabled": false, "content_hash": ""}).Error
		case SourceFile:
		default:
			err = tx.Delete(&row).Error
		}
		return sourceEntry("catalog.source_removed", &row), err
	})
}

func sourceOf(tx *gorm.DB, id string) (models.CatalogSource, error) {
	var row models.CatalogSource
	err := tx.First(&row, "id = ?", id).Error
	return row, notFound(err, "catalog source", id)
}

// SyncSource fetches the changes of a source since the last sync and imports
// them in one transaction. A dry run only returns the plan. Rows are deleted
// only if the source reports them as deleted. It returns NOT_FOUND, CONFLICT
// for a source that is disabled, has no URL or is already being synced, and
// UPSTREAM_ faults. On errors no row has changed and the source records the
// error.
func (s *Store) SyncSource(ctx context.Context, id string, dryRun bool) (Plan, error) {
	source, err := sourceOf(s.db.WithContext(ctx), id)
	switch {
	case err != nil:
		return Plan{}, err
	case source.URL == "":
		return Plan{}, fault.Conflict("Source %s has no URL, so it can't be synced.", source.Name)
	case !source.Enabled:
		return Plan{}, fault.Conflict("Source %s is disabled. Enable it first.", source.Name)
	}
	return s.sync(ctx, source, dryRun)
}

// ImportURL syncs the source with the URL and adds it if it doesn't exist. If
// the path ends in .json, it is a document in the catalog's own format,
// otherwise an official registry. It returns the errors of AddSource and
// SyncSource.
func (s *Store) ImportURL(ctx context.Context, address string, dryRun bool) (Plan, error) {
	n := NewSource{Kind: models.CatalogOfficial, URL: address}
	if u, err := url.Parse(address); err == nil && strings.HasSuffix(u.Path, ".json") {
		n.Kind = models.CatalogFile
	}
	source, err := newSource(n)
	if err != nil {
		return Plan{}, err
	}
	var known models.CatalogSource
	err = s.db.WithContext(ctx).First(&known, "url = ?", source.URL).Error
	switch {
	case err == nil:
		return s.SyncSource(ctx, known.ID, dryRun)
	case !errors.Is(err, gorm.ErrRecordNotFound):
		return Plan{}, fault.Internal(err)
	case dryRun:
		return s.sync(ctx, source, true)
	}
	if source, err = s.AddSource(ctx, n); err != nil {
		return Plan{}, err
	}
	return s.sync(ctx, source, false)
}

func (s *Store) sync(ctx context.Context, source models.CatalogSource, dryRun bool) (Plan, error) {
	if !s.begin(source.ID) {
		return Plan{}, fault.Conflict("Source %s is already being synced. Retry shortly.", source.Name)
	}
	defer s.end(source.ID)
	started := s.now()
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	read, err := s.fetch(ctx, &source)
	if err == nil {
		var plan Plan
		plan, err = s.importBatch(ctx, source, read.Batch, dryRun, func(tx *gorm.DB, row *models.CatalogSource) error {
			changes := map[string]any{"started_at": started}
			if mark := highWater(row.HighWater, read.HighWater); mark != nil {
				changes["high_water"] = *mark
			}
			return tx.Model(row).Updates(changes).Error
		})
		if err == nil || dryRun {
			return plan, err
		}
	}
	if dryRun {
		return Plan{}, err
	}
	return Plan{}, errors.Join(err, s.failed(ctx, source.ID, started, err))
}

func (s *Store) fetch(ctx context.Context, row *models.CatalogSource) (sources.Content, error) {
	if row.Kind == models.CatalogOfficial {
		return s.reader.Official(ctx, row.URL, row.HighWater)
	}
	return s.reader.File(ctx, row.URL)
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
