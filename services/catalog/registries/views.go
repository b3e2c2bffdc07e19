// Package registries manages the views of the catalog, which are registries for
// editors, and the keys of gated ones.
package registries

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/catalog"
	"mcpgateway/services/fault"
	"mcpgateway/services/query"
)

// Limits of views and keys.
const (
	MaxViews   = 100
	MaxName    = 50     // characters of the name of a view
	MaxTitle   = 100    // characters of the title of a view, and of the name of a key
	MaxEntries = 10_000 // of a list
	MaxKeys    = 1000   // usable ones
)

// All is the name of the view of the whole catalog, which is served at /v0.1.
const All = "all"

// Auditor records changes in the writer's transaction.
type Auditor interface {
	Record(tx *gorm.DB, e activity.Entry) error
}

// Entries finds entries of the catalog. Implemented by catalog.Catalog.
type Entries interface {
	// Entry returns NOT_FOUND for an unknown, hidden or deleted entry.
	Entry(id string) (*models.CatalogEntry, error)
}

// Store creates, changes and deletes views and keys. It reads the database in
// every call, so that changes apply to all replicas at once. Every change writes
// its audit row in the same transaction.
type Store struct {
	db      *gorm.DB
	entries Entries
	audit   Auditor
	now     func() time.Time
}

// New returns the Store of the database.
func New(db *gorm.DB, entries Entries, audit Auditor, now func() time.Time) *Store {
	return &Store{db: db, entries: entries, audit: audit, now: now}
}

// NewView are the attributes of a view to create.
type NewView struct {
	Name, Title string
	Kind        models.CatalogViewKind
	Query       string // of a view of kind query
	Gated       bool
}

// Change are the attributes of a view to change; nil keeps one.
type Change struct {
	Title *string
	Query *string // of a view of kind query
	Gated *bool
}

// View is a view with the number of its approved rows, which is 0 for a query.
type View struct {
	models.CatalogView
	Entries int
}

// Views returns all views by name.
func (s *Store) Views(ctx context.Context) ([]View, error) {
	var rows []View
	err := s.db.WithContext(ctx).Model(&models.CatalogView{}).
		Select("catalog_views.*, (SELECT count(*) FROM catalog_view_entries e WHERE e.view_id = catalog_views.id) AS entries").
		Order("name").Scan(&rows).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// View returns the view with the name, or NOT_FOUND.
func (s *Store) View(ctx context.Context, name string) (models.CatalogView, error) {
	return viewOf(s.db.WithContext(ctx), name)
}

func viewOf(tx *gorm.DB, name string) (models.CatalogView, error) {
	var row models.CatalogView
	err := tx.First(&row, "name = ?", name).Error
	switch {
	case err == nil:
		return row, nil
	case errors.Is(err, gorm.ErrRecordNotFound):
		return row, fault.NotFound("view", clip(name))
	}
	return row, fault.From(err)
}

// Approved returns the IDs of the rows of a list, those added last first.
func (s *Store) Approved(ctx context.Context, viewID string) ([]string, error) {
	var ids []string
	err := s.db.WithContext(ctx).Model(&models.CatalogViewEntry{}).Where("view_id = ?", viewID).Order("added_at DESC, entry_id").Pluck("entry_id", &ids).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	return ids, nil
}

// Selection returns the part of the catalog that a view serves.
func (s *Store) Selection(ctx context.Context, view models.CatalogView) (*catalog.Selection, error) {
	if view.Kind == models.ViewQuery {
		return &catalog.Selection{Query: view.Query, Changed: view.UpdatedAt}, nil
	}
	var rows []models.CatalogViewEntry
	if err := s.db.WithContext(ctx).Find(&rows, "view_id = ?", view.ID).Error; err != nil {
		return nil, fault.Internal(err)
	}
	added := make(map[string]time.Time, len(rows))
	for _, row := range rows {
		added[row.EntryID] = row.AddedAt
	}
	return &catalog.Selection{Added: added}, nil
}

// Create stores a new view and records catalog.view_created. It returns
// VALIDATION_FAILED for invalid attributes, and CONFLICT for a name that is in
// use and beyond MaxViews.
func (s *Store) Create(ctx context.Context, n NewView) (models.CatalogView, error) {
	n.Title = strings.TrimSpace(n.Title)
	now := s.now()
	row := models.CatalogView{
		ID: uuid.Must(uuid.NewV7()).String(), Name: n.Name, Title: cmp.Or(n.Title, n.Name), Kind: n.Kind, Query: strings.TrimSpace(n.Query), Gated: n.Gated, CreatedAt: now, UpdatedAt: now,
	}
	if err := validate(&row); err != nil {
		return row, err
	}
	err := s.change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
		var names []string
		if err := tx.Model(&models.CatalogView{}).Pluck("name", &names).Error; err != nil {
			return nil, err
		}
		if len(names) >= MaxViews {
			return nil, fault.Conflict("The catalog has %d views, the maximum. Delete some first.", len(names))
		}
		for _, name := range names {
			if name == row.Name {
				return nil, fault.Conflict("A view with the name %s exists. Choose another name.", row.Name)
			}
		}
		if err := tx.Create(&row).Error; err != nil {
			return nil, err
		}
		return entryOf("catalog.view_created", row, nil), nil
	})
	return row, err
}

// viewName is the form of names, which are part of URLs.
var viewName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func validate(v *models.CatalogView) error {
	fields := map[string]string{}
	switch {
	case v.Name == All:
		fields["name"] = "This is the name of the whole catalog. Choose another."
	case len(v.Name) > MaxName || !viewName.MatchString(v.Name):
		fields["name"] = "Use 1 to 50 lower-case letters, digits and single dashes."
	}
	if utf8.RuneCountInString(v.Title) > MaxTitle || !printable(v.Title) {
		fields["title"] = "Use at most 100 printable characters."
	}
	switch v.Kind {
	case models.ViewQuery:
		if _, err := query.Registry().Parse(v.Query); err != nil {
			fields["query"] = fault.From(err).Message
		}
	case models.ViewList:
		if v.Query != "" {
			fields["query"] = "A list has no query."
		}
	default:
		fields["kind"] = "Use query or list."
	}
	if len(fields) > 0 {
		return fault.Validation(fields)
	}
	return nil
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// Update changes a view and records catalog.view_changed with the changed
// attributes. It returns NOT_FOUND, and VALIDATION_FAILED for invalid
// attributes. Without a difference it does nothing.
func (s *Store) Update(ctx context.Context, name string, c Change) (row models.CatalogView, err error) {
	err = s.change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
		if row, err = viewOf(tx, name); err != nil {
			return nil, err
		}
		before := row
		if c.Title != nil {
			row.Title = cmp.Or(strings.TrimSpace(*c.Title), row.Name)
		}
		if c.Query != nil {
			row.Query = strings.TrimSpace(*c.Query)
		}
		if c.Gated != nil {
			row.Gated = *c.Gated
		}
		if err := validate(&row); err != nil {
			return nil, err
		}
		if row == before {
			return nil, nil
		}
		row.UpdatedAt = s.now()
		detail := map[string]string{}
		if row.Query != before.Query {
			detail["query"] = row.Query
		}
		if row.Title != before.Title {
			detail["title"] = row.Title
		}
		if err := tx.Save(&row).Error; err != nil {
			return nil, err
		}
		return entryOf("catalog.view_changed", row, detail), nil
	})
	return row, err
}

// Delete deletes a view, with its list and the tokens of people's clients, and
// records catalog.view_deleted. It returns NOT_FOUND for an unknown view.
func (s *Store) Delete(ctx context.Context, name string) error {
	return s.change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
		row, err := viewOf(tx, name)
		if err != nil {
			return nil, err
		}
		if err := tx.Delete(&row).Error; err != nil {
			return nil, err
		}
		return entryOf("catalog.view_deleted", row, nil), nil
	})
}

// AddEntry adds a row to a list and records catalog.view_entry_added. It does
// nothing for a row that the list has. It returns NOT_FOUND for an unknown view
// or row, and CONFLICT for a view of kind query and beyond MaxEntries.
func (s *Store) AddEntry(ctx context.Context, name, entryID string) error {
	entry, err := s.entries.Entry(entryID)
	if err != nil {
		return err
	}
	return s.change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
		row, err := viewOf(tx, name)
		if err != nil {
			return nil, err
		}
		if row.Kind != models.ViewList {
			return nil, fault.Conflict("The view %s has a query. Change the query instead.", name)
		}
		added := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&models.CatalogViewEntry{ViewID: row.ID, EntryID: entry.ID, AddedAt: s.now()})
		if added.Error != nil || added.RowsAffected == 0 {
			return nil, added.Error
		}
		var n int64
		if err := tx.Model(&models.CatalogViewEntry{}).Where("view_id = ?", row.ID).Count(&n).Error; err != nil {
			return nil, err
		}
		if n > MaxEntries {
			return nil, fault.Conflict("The list has %d rows, the maximum. Remove some first.", MaxEntries)
		}
		return s.listed(tx, "catalog.view_entry_added", row, entry.PublisherName+"/"+entry.ServerName)
	})
}

// RemoveEntry removes a row from a list and records
// catalog.view_entry_removed. It returns NOT_FOUND for an unknown view and for a
// row that the list doesn't have.
func (s *Store) RemoveEntry(ctx context.Context, name, entryID string) error {
	return s.change(ctx, func(tx *gorm.DB) (*activity.Entry, error) {
		row, err := viewOf(tx, name)
		if err != nil {
			return nil, err
		}
		removed := tx.Delete(&models.CatalogViewEntry{}, "view_id = ? AND entry_id = ?", row.ID, entryID)
		switch {
		case removed.Error != nil:
			return nil, removed.Error
		case removed.RowsAffected == 0:
			return nil, fault.NotFound("row of the view", clip(entryID))
		}
		object := entryID
		if entry, err := s.entries.Entry(entryID); err == nil {
			object = entry.PublisherName + "/" + entry.ServerName
		}
		return s.listed(tx, "catalog.view_entry_removed", row, object)
	})
}

// listed sets the time of a view's change, and returns the entry of a changed
// list.
func (s *Store) listed(tx *gorm.DB, action string, row models.CatalogView, entry string) (*activity.Entry, error) {
	if err := tx.Model(&models.CatalogView{}).Where("id = ?", row.ID).Update("updated_at", s.now()).Error; err != nil {
		return nil, err
	}
	return entryOf(action, row, map[string]string{"entry": entry}), nil
}

// entryOf returns the audit entry of a view, with the facts that decide who may
// read it.
func entryOf(action string, row models.CatalogView, detail map[string]string) *activity.Entry {
	all := map[string]string{"kind": string(row.Kind), "access": "public"}
	if row.Gated {
		all["access"] = "gated"
	}
	for name, value := range detail {
		all[name] = value
	}
	return &activity.Entry{Action: action, Object: row.Name, ObjectID: row.ID, Detail: all}
}

// change runs write in a transaction with exclusive access to the views and
// keys, and records the entry that it returns, if any.
func (s *Store) change(ctx context.Context, write func(tx *gorm.DB) (*activity.Entry, error)) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		lock := tx.Clauses(models.LockRow(tx)...).Select("id").First(&models.CatalogSource{}, "id = ?", catalog.SourceDefault)
		if lock.Error != nil {
			return lock.Error
		}
		entry, err := write(tx)
		if err != nil || entry == nil {
			return err
		}
		return s.audit.Record(tx, *entry)
	})
	if err != nil {
		return fault.From(err)
	}
	return nil
}

func clip(s string) string {
	if r := []rune(s); len(r) > MaxTitle {
		return string(r[:MaxTitle]) + "…"
	}
	return s
}
