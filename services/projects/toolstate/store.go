// Package toolstate stores what users decide about the tools of projects: which
// are enabled and approved, and which changed effects are confirmed.
package toolstate

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
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

// Store changes the states of tools. Every change is one transaction that also
// writes its audit rows and publishes its topic.
type Store struct {
	db    *gorm.DB
	audit Auditor
	feed  Publisher
}

// NewStore returns the Store of db.
func NewStore(db *gorm.DB, audit Auditor, feed Publisher) *Store {
	return &Store{db: db, audit: audit, feed: feed}
}

// change runs work in a transaction that locks the project with the slug, because
// its list of disabled tools is one value, and records the entries that work
// returns. Without entries nothing has changed. It returns NOT_FOUND for an
// unknown project.
func (s *Store) change(ctx context.Context, slug string, work func(tx *gorm.DB, project *models.Project) ([]activity.Entry, error)) error {
	var topics []notify.Topic
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var project models.Project
		err := tx.Clauses(models.LockRow(tx)...).First(&project, "slug = ?", slug).Error
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return fault.NotFound("project", slug)
		}
		if err != nil {
			return err
		}
		entries, err := work(tx, &project)
		if err != nil || len(entries) == 0 {
			return err
		}
		if err := s.audit.RecordAll(tx, entries); err != nil {
			return err
		}
		topics = []notify.Topic{notify.Toolset(project.ID)}
		return notify.Touch(tx, topics...)
	})
	if err != nil {
		return fault.From(err)
	}
	return s.feed.Publish(ctx, topics...)
}
