// Package recipes stores saved code that is a tool of its project, its versions,
// and the proposals of clients.
package recipes

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Limits of recipes. services/declaration has those of their fields.
const (
	MaxVersions             = 50 // stored ones of a recipe
	MaxProposals            = 50 // of a project
	MaxProposalsOfPrincipal = 10 // of one caller in a project
)

// Publisher publishes committed changes to this process and to others.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Auditor records changes in the writer's transaction.
type Auditor interface {
	RecordAll(tx *gorm.DB, entries []activity.Entry) error
}

// Store reads and changes recipes. Every change is one transaction that also
// writes its audit rows and publishes its topic.
type Store struct {
	db    *gorm.DB
	audit Auditor
	feed  Publisher
	now   func() time.Time
}

// NewStore returns the store of db.
func NewStore(db *gorm.DB, audit Auditor, feed Publisher, now func() time.Time) *Store {
	return &Store{db: db, audit: audit, feed: feed, now: now}
}

// List returns the recipes of a project, by name.
func (s *Store) List(ctx context.Context, projectID string) ([]models.Recipe, error) {
	return Of(s.db.WithContext(ctx), projectID)
}

// Of returns the recipes of a project in the caller's transaction, by name.
func Of(tx *gorm.DB, projectID string) ([]models.Recipe, error) {
	var rows []models.Recipe
	if err := tx.Order("name").Find(&rows, "project_id = ?", projectID).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// Get returns the recipe of a project with the id, or NOT_FOUND.
func (s *Store) Get(ctx context.Context, projectID, id string) (models.Recipe, error) {
	return find[models.Recipe](s.db.WithContext(ctx), id, "id = ? AND project_id = ?", id, projectID)
}

// Named returns the recipe of a project with the name, or NOT_FOUND.
func (s *Store) Named(ctx context.Context, projectID, name string) (models.Recipe, error) {
	return named(s.db.WithContext(ctx), projectID, name)
}

func named(tx *gorm.DB, projectID, name string) (models.Recipe, error) {
	return find[models.Recipe](tx, name, "project_id = ? AND name = ?", projectID, name)
}

func find[T any](tx *gorm.DB, called, condition string, arguments ...any) (row T, err error) {
	err = tx.Where(condition, arguments...).First(&row).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return row, fault.NotFound("recipe", called)
	case err != nil:
		return row, fault.Internal(err)
	}
	return row, nil
}

// Versions returns the stored versions of a recipe, latest first.
func (s *Store) Versions(ctx context.Context, recipeID string) ([]models.RecipeVersion, error) {
	var rows []models.RecipeVersion
	if err := s.db.WithContext(ctx).Order("version DESC").Find(&rows, "recipe_id = ?", recipeID).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// Create creates a recipe and records recipe.created. It returns NOT_FOUND for an
// unknown project, VALIDATION_FAILED with the problems by field, and CONFLICT with
// the field name if the project has a recipe with the name, or an old server with
// the alias of recipes.
func (s *Store) Create(ctx context.Context, projectSlug, name string, d *declaration.Recipe) (models.Recipe, error) {
	var saved Saved
	err := s.write(ctx, projectSlug, func(w *Writer) (err error) {
		if _, err := named(w.Tx, w.Project.ID, name); !fault.Is(err, fault.CodeNotFound) {
			if err != nil {
				return err
			}
			return conflict("The project already has a recipe %q. Choose another name, or open that recipe and save a new version.", name)
		}
		saved, err = w.Save(name, d)
		return err
	})
	return saved.Recipe, err
}

// conflict returns CONFLICT of the field name.
func conflict(format string, args ...any) error {
	f := fault.Conflict(format, args...)
	f.Fields = map[string]string{"name": f.Message}
	return f
}

// Update changes a recipe, which becomes its next version; absent fields don't
// change. Without a change it writes nothing. It records recipe.updated with the
// names of the changed fields, and returns NOT_FOUND and VALIDATION_FAILED like
// Create.
func (s *Store) Update(ctx context.Context, projectSlug, id string, d *declaration.Recipe) (models.Recipe, error) {
	var saved Saved
	err := s.write(ctx, projectSlug, func(w *Writer) error {
		row, err := w.get(id)
		if err != nil {
			return err
		}
		saved, err = w.Save(row.Name, d)
		return err
	})
	return saved.Recipe, err
}

// Restore saves a stored version of a recipe as its next version, like Update. It
// returns NOT_FOUND for an unknown version.
func (s *Store) Restore(ctx context.Context, projectSlug, id string, version int64) (models.Recipe, error) {
	var saved Saved
	err := s.write(ctx, projectSlug, func(w *Writer) error {
		row, err := w.get(id)
		if err != nil {
			return err
		}
		old, err := find[models.RecipeVersion](w.Tx, row.Name, "recipe_id = ? AND version = ?", id, version)
		if err != nil {
			return err
		}
		saved, err = w.Save(row.Name, &declaration.Recipe{Description: &old.Description, InputSchema: &old.InputSchema, Code: &old.Code, Effect: &old.Effect})
		return err
	})
	return saved.Recipe, err
}

// Delete deletes a recipe with its versions and records recipe.deleted. It returns
// NOT_FOUND.
func (s *Store) Delete(ctx context.Context, projectSlug, id string) error {
	return models.Essential(s.db, func() error {
		return s.write(ctx, projectSlug, func(w *Writer) error {
			row, err := w.get(id)
			if err != nil {
				return err
			}
			return w.Delete(&row)
		})
	})
}

// write runs work in a transaction that locks the project with the slug.
func (s *Store) write(ctx context.Context, projectSlug string, work func(*Writer) error) error {
	w := &Writer{Now: s.now()}
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		project, err := find[models.Project](tx.Clauses(models.LockRow(tx)...), projectSlug, "slug = ?", projectSlug)
		if fault.Is(err, fault.CodeNotFound) {
			return fault.NotFound("project", projectSlug)
		}
		if err != nil {
			return err
		}
		w.Tx, w.Project, w.Entries, w.Topics = tx, &project, nil, map[notify.Topic]bool{}
		if err := work(w); err != nil {
			return err
		}
		if err := s.audit.RecordAll(tx, w.Entries); err != nil {
			return err
		}
		return notify.Touch(tx, slices.Sorted(maps.Keys(w.Topics))...)
	})
	switch {
	case err != nil:
		return fault.From(err)
	case len(w.Topics) == 0:
		return nil
	}
	return s.feed.Publish(ctx, slices.Sorted(maps.Keys(w.Topics))...)
}
