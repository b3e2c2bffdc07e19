// Package toolsets stores the toolsets of projects: named subsets of their
// tools with separate endpoints.
package toolsets

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

// Publisher publishes committed changes to this process and to others.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Auditor records changes in the writer's transaction.
type Auditor interface {
	RecordAll(tx *gorm.DB, entries []activity.Entry) error
}

// Store reads and changes toolsets. Every change is one transaction that also
// writes its audit rows and publishes its topics.
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

// List returns the toolsets of a project, by slug.
func (s *Store) List(ctx context.Context, projectID string) ([]models.Toolset, error) {
	return Of(s.db.WithContext(ctx), projectID)
}

// Of returns the toolsets of a project in the caller's transaction, by slug.
func Of(tx *gorm.DB, projectID string) ([]models.Toolset, error) {
	var rows []models.Toolset
	if err := tx.Order("slug").Find(&rows, "project_id = ?", projectID).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// Get returns the toolset of a project with the slug, or NOT_FOUND.
func (s *Store) Get(ctx context.Context, projectID, slug string) (models.Toolset, error) {
	return get(s.db.WithContext(ctx), projectID, slug)
}

func get(tx *gorm.DB, projectID, slug string) (models.Toolset, error) {
	var row models.Toolset
	err := tx.First(&row, "project_id = ? AND slug = ?", projectID, slug).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return row, fault.NotFound("toolset", slug)
	case err != nil:
		return row, fault.Internal(err)
	}
	return row, nil
}

// Create creates a toolset and records toolset.created. It returns NOT_FOUND for
// an unknown project, VALIDATION_FAILED with the problems by field, and CONFLICT
// with the field slug if the slug is taken.
func (s *Store) Create(ctx context.Context, projectSlug, slug string, d *declaration.Toolset) (models.Toolset, error) {
	d, err := d.Check()
	if err != nil {
		return models.Toolset{}, err
	}
	if why := declaration.CheckSlug(slug); why != "" {
		return models.Toolset{}, fault.Validation(map[string]string{"slug": why})
	}
	var saved Saved
	err = s.write(ctx, projectSlug, func(w *Writer) (err error) {
		if _, err := get(w.Tx, w.Project.ID, slug); !fault.Is(err, fault.CodeNotFound) {
			if err != nil {
				return err
			}
			f := fault.Conflict("The project already has a toolset %q. Choose another slug.", slug)
			f.Fields = map[string]string{"slug": f.Message}
			return f
		}
		saved, err = w.save(slug, d)
		return err
	})
	return saved.Toolset, err
}

// Update changes a toolset; absent fields don't change. It records
// toolset.updated with the names of the changed fields, and ends the warning
// about members that a sync changed. It returns NOT_FOUND for an unknown project
// or toolset, and VALIDATION_FAILED like Create.
func (s *Store) Update(ctx context.Context, projectSlug, slug string, d *declaration.Toolset) (models.Toolset, error) {
	d, err := d.Check()
	if err != nil {
		return models.Toolset{}, err
	}
	var saved Saved
	err = s.write(ctx, projectSlug, func(w *Writer) (err error) {
		if _, err := get(w.Tx, w.Project.ID, slug); err != nil {
			return err
		}
		if saved, err = w.save(slug, d); err != nil || len(saved.Fields) > 0 {
			return err
		}
		return w.accept(&saved.Toolset)
	})
	return saved.Toolset, err
}

// Delete deletes a toolset and records toolset.deleted. Access tokens for its
// endpoint are revoked. It returns NOT_FOUND, and CONFLICT with the fields keys,
// people and groups if one of these uses it. With force it removes the toolset
// from them instead, and revokes the keys that have no other toolset, recording
// key.revoked. No key or person gains tools.
func (s *Store) Delete(ctx context.Context, projectSlug, slug string, force bool) error {
	return models.Essential(s.db, func() error {
		return s.write(ctx, projectSlug, func(w *Writer) error {
			row, err := get(w.Tx, w.Project.ID, slug)
			if err != nil {
				return err
			}
			return w.Delete(&row, force)
		})
	})
}

// write runs work in a transaction that locks the project with the slug.
func (s *Store) write(ctx context.Context, projectSlug string, work func(*Writer) error) error {
	w := &Writer{Now: s.now()}
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var project models.Project
		err := tx.Clauses(models.LockRow(tx)...).First(&project, "slug = ?", projectSlug).Error
		if errors.Is(err, gorm.ErrRecordNotFound) {
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
