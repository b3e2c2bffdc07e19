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
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Publisher tells this process and others of committed changes.
type Publisher interface {
	Published(ctx context.Context, topics ...notify.Topic) error
}

// Auditor records changes within the transaction that makes them.
type Auditor interface {
	Record(tx *gorm.DB, e activity.Entry) error
}

// Store changes the catalog: it takes in what sources say and what admins
// decide. Every change that shows is audited and announced.
type Store struct {
	db     *gorm.DB
	reader *sources.Reader
	audit  Auditor
	feed   Publisher
	now    func() time.Time

	mu      sync.Mutex
	syncing map[string]bool // sources that are read right now, by id
}

// NewStore returns the store of the database. Sources are read with client,
// which comes from services/egress; changes are announced on feed.
func NewStore(db *gorm.DB, client *http.Client, audit Auditor, feed Publisher, now func() time.Time) *Store {
	return &Store{db: db, reader: sources.NewReader(client), audit: audit, feed: feed, now: now, syncing: map[string]bool{}}
}

// The sources that every catalog has.
const (
	SourceDefault = "default" // the built-in data
	SourceFile    = "file"    // imported files
)

// change runs write in a transaction in which nobody else writes to the
// catalog. When write returns an entry for the audit log, the catalog changed:
// the entry is recorded and the change announced once it is committed.
func (s *Store) change(ctx context.Context, write func(tx *gorm.DB) (*activity.Entry, error)) error {
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
	return s.feed.Published(ctx, topic)
}

// lock makes the writers of the catalog wait for each other, so that an import
// never overwrites what an admin decides meanwhile.
func lock(tx *gorm.DB) error {
	return tx.Clauses(models.LockRow(tx)...).Select("id").First(&models.CatalogSource{}, "id = ?", SourceDefault).Error
}

// Entry returns the entry with the id as it is stored, also a hidden one, or
// NOT_FOUND. It has no document.
func (s *Store) Entry(ctx context.Context, id string) (models.CatalogEntry, error) {
	return entryOf(s.db.WithContext(ctx), id)
}

// Curated returns the entries about which an admin decided something (hidden,
// edited, featured, verified), by name and without documents.
func (s *Store) Curated(ctx context.Context) ([]models.CatalogEntry, error) {
	var rows []models.CatalogEntry
	err := s.db.WithContext(ctx).Omit("document").Order("publisher_name, server_name").Limit(maxChanges).
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
