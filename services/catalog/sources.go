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
	URL  string // of the registry without its /v0.1, or of a document in the catalog's own format
}

// Sources returns the sources of the catalog, the built-in ones first.
func (s *Store) Sources(ctx context.Context) ([]models.CatalogSource, error) {
	var rows []models.CatalogSource
	if err := s.db.WithContext(ctx).Order("created_at, id").Find(&rows).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// AddSource stores a source, which nothing is read from yet. It returns
// VALIDATION_FAILED for an unusable one, CONFLICT when the address is that of
// another source or there are too many.
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
			return nil, fault.Conflict("the catalog already has %d sources: remove some first", count)
		}
		if err := tx.Create(&row).Error; err != nil {
			if errors.Is(err, gorm.ErrDuplicatedKey) {
				return nil, fault.Conflict("there already is a source with this address")
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
		fields["url"] = "use the address of the registry without a query"
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

// EnableSource says whether a source may be synced. Its rows stay either way.
// Enabling the built-in data brings it back. It returns NOT_FOUND for an
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

// RemoveSource removes a source and its rows. The two that every catalog has
// lose their rows only, and the built-in data stays away until the source is
// enabled again. It returns NOT_FOUND for an unknown source.
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

// SyncSource reads a source and takes in what changed there since the last
// time, all in one transaction; a dry run only returns the plan. Rows go only
// when the source says that they are deleted. It returns NOT_FOUND, CONFLICT
// for a source that is disabled, has no address or is being read already, and
// UPSTREAM_ faults; then no row was changed, and the source tells why.
func (s *Store) SyncSource(ctx context.Context, id string, dryRun bool) (Plan, error) {
	source, err := sourceOf(s.db.WithContext(ctx), id)
	switch {
	case err != nil:
		return Plan{}, err
	case source.URL == "":
		return Plan{}, fault.Conflict("the source %s is not read from an address", source.Name)
	case !source.Enabled:
		return Plan{}, fault.Conflict("the source %s is disabled: enable it first", source.Name)
	}
	return s.sync(ctx, source, dryRun)
}

// ImportURL syncs the source with the address, which becomes one when it is
// not yet: a document in the catalog's own format when the path ends in .json,
// else an official registry. It returns what AddSource and SyncSource return.
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
		return Plan{}, fault.Conflict("the source %s is being read already", source.Name)
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

// highWater returns the later of two moments; zero is none.
func highWater(stored *time.Time, seen time.Time) *time.Time {
	if seen.IsZero() || stored != nil && !seen.After(*stored) {
		return stored
	}
	seen = seen.UTC().Truncate(time.Millisecond)
	return &seen
}

// failed notes why a sync failed, also when its context has ended.
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
