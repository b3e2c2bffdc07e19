package catalog

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

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
	Kind     models.CatalogSourceKind
	Name     string
	URL      string                 // URL of the registry without /v0.1, or of a document in the catalog's own format
	Schedule models.CatalogSchedule // daily if empty
}

// Sources returns the sources of the catalog, the built-in ones first.
func (s *Store) Sources(ctx context.Context) ([]models.CatalogSource, error) {
	var rows []models.CatalogSource
	if err := s.db.WithContext(ctx).Order("created_at, id").Find(&rows).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// Source returns the source with the id, or NOT_FOUND.
func (s *Store) Source(ctx context.Context, id string) (models.CatalogSource, error) {
	return sourceOf(s.db.WithContext(ctx), id)
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
	err = s.Change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
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
	schedule := cmp.Or(n.Schedule, models.ScheduleDaily)
	if !slices.Contains(schedules(), schedule) {
		fields["schedule"] = badSchedule
	}
	if len(fields) > 0 {
		return models.CatalogSource{}, fault.Validation(fields)
	}
	name := cmp.Or(sources.Clean(n.Name, maxSourceName), sources.Clean(u.Host, maxSourceName))
	return models.CatalogSource{ID: uuid.Must(uuid.NewV7()).String(), Kind: n.Kind, Name: name, URL: address, Enabled: true, Schedule: schedule}, nil
}

func sourceEntry(action string, row *models.CatalogSource) *activity.Entry {
	return &activity.Entry{Action: action, Object: row.Name, ObjectID: row.ID, Detail: map[string]string{"kind": string(row.Kind), "url": row.URL}}
}

// badSchedule is the message for an unknown schedule.
const badSchedule = "use off, hourly, daily or weekly"

func schedules() []models.CatalogSchedule {
	return []models.CatalogSchedule{models.ScheduleOff, models.ScheduleHourly, models.ScheduleDaily, models.ScheduleWeekly}
}

// SourceChange is a change of a source. Nil leaves a field unchanged.
type SourceChange struct {
	Name     *string
	Schedule *models.CatalogSchedule
}

// UpdateSource changes a source. It returns NOT_FOUND for an unknown source and
// VALIDATION_FAILED for invalid values.
func (s *Store) UpdateSource(ctx context.Context, id string, change SourceChange) error {
	return s.Change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
		row, err := sourceOf(tx, id)
		if err != nil {
			return nil, err
		}
		before := row
		fields := map[string]string{}
		if change.Name != nil {
			if row.Name = sources.Clean(*change.Name, maxSourceName); row.Name == "" {
				fields["name"] = "must not be empty"
			}
		}
		if change.Schedule != nil {
			row.Schedule = *change.Schedule
			switch {
			case !slices.Contains(schedules(), row.Schedule):
				fields["schedule"] = badSchedule
			case row.URL == "" && row.Schedule != models.ScheduleOff:
				fields["schedule"] = "use off: this source has no URL to read"
			}
		}
		if len(fields) > 0 {
			return nil, fault.Validation(fields)
		}
		if row.Name == before.Name && row.Schedule == before.Schedule {
			return nil, nil
		}
		entry := sourceEntry("catalog.source_updated", &row)
		entry.Detail["schedule"] = string(row.Schedule)
		return entry, tx.Model(&row).Select("name", "schedule").Updates(&row).Error
	})
}

// EnableSource sets whether a source can be synced. Its rows stay in either
// case. Enabling the built-in data restores it. It returns NOT_FOUND for an
// unknown source.
func (s *Store) EnableSource(ctx context.Context, id string, enabled bool) error {
	err := s.Change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
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
	return s.Change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
		row, err := sourceOf(tx, id)
		if err != nil {
			return nil, err
		}
		for _, rows := range []any{&models.CatalogEntry{}, &models.CatalogTemplate{}} {
			if err := tx.Delete(rows, "source_id = ?", id).Error; err != nil {
				return nil, err
			}
		}
		// The names are free for other sources, which must be read again.
		if err := tx.Model(&models.CatalogSource{}).Where("etag <> ''").Update("etag", "").Error; err != nil {
			return nil, err
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
