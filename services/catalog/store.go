package catalog

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/catalog/changes"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Publisher publishes committed changes to this process and to others.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Auditor records changes within their transaction.
type Auditor interface {
	Record(tx *gorm.DB, e activity.Entry) error
}

// Store changes the catalog: imports from sources and decisions of
// administrators. Every visible change is audited and published.
type Store struct {
	db     *gorm.DB
	reader *sources.Reader
	audit  Auditor
	feed   Publisher
	now    func() time.Time

	mu      sync.Mutex
	syncing map[string]bool // sources being synced, by id
}

// NewStore returns the store of db. client fetches sources and comes from
// services/egress. Changes are published on feed.
func NewStore(db *gorm.DB, client *http.Client, audit Auditor, feed Publisher, now func() time.Time) *Store {
	return &Store{db: db, reader: sources.NewReader(client), audit: audit, feed: feed, now: now, syncing: map[string]bool{}}
}

// The permanent sources of every catalog.
const (
	SourceDefault = "default" // the built-in data
	SourceFile    = "file"    // imported files
)

// Change runs write in a transaction with exclusive write access to the
// catalog. If write returns an audit entry, the catalog has changed: the entry
// is recorded, and the change is published after the commit.
func (s *Store) Change(ctx context.Context, write func(tx *gorm.DB) (*activity.Entry, error)) error {
	topic := notify.Catalog()
	changed := false
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := lock(tx); err != nil {
			return err
		}
		entry, err := write(tx)
		if err != nil || entry == nil {
			return err
		}
		changed = true
		if err := s.audit.Record(tx, *entry); err != nil {
			return err
		}
		return notify.Touch(tx, topic)
	})
	if err != nil {
		return fault.From(err)
	}
	if !changed {
		return nil
	}
	return s.feed.Publish(ctx, topic)
}

// lock serializes the writers of the catalog, so that an import never
// overwrites a concurrent decision of an administrator.
func lock(tx *gorm.DB) error {
	return tx.Clauses(models.LockRow(tx)...).Select("id").First(&models.CatalogSource{}, "id = ?", SourceDefault).Error
}

// Entry returns the stored entry with the id, even if hidden, or NOT_FOUND. It
// has no document.
func (s *Store) Entry(ctx context.Context, id string) (models.CatalogEntry, error) {
	return entryOf(s.db.WithContext(ctx), id)
}

// History returns the changes of an entry, newest first.
func (s *Store) History(ctx context.Context, id string) ([]models.CatalogChange, error) {
	rows, err := changes.List(s.db.WithContext(ctx), id)
	if err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// Curated returns the entries with decisions of administrators (hidden, edited,
// featured, verified), by name and without documents.
func (s *Store) Curated(ctx context.Context) ([]models.CatalogEntry, error) {
	var rows []models.CatalogEntry
	err := s.db.WithContext(ctx).Omit("document").Order("publisher_name, server_name").Limit(maxCurated).
		Find(&rows, "hidden = ? OR locked = ? OR featured_by <> '' OR verified_by <> ''", true, true).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

func entryOf(tx *gorm.DB, id string) (models.CatalogEntry, error) {
	var row models.CatalogEntry
	err := tx.Omit("document").First(&row, "id = ?", id).Error
	return row, notFound(err, "catalog entry", id)
}

func notFound(err error, thing, name string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, gorm.ErrRecordNotFound):
		return fault.NotFound(thing, name)
	default:
		return fault.Internal(err)
	}
}
