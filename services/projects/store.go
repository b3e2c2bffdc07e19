// Package projects stores projects and their upstream servers, applies
// declarations to them and exports them.
package projects

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/secrets"
)

// Secrets converts between entered and stored secrets.
type Secrets interface {
	// Store seals a literal and returns a permitted `${NAME}` reference
	// unchanged. It returns a fault with the reason for a reference that is not
	// permitted.
	Store(entered, row string) (string, error)
	// Resolve decrypts a stored secret or resolves its reference.
	Resolve(stored, row string) (secrets.Value, error)
}

// Publisher publishes committed changes to this process and to others.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Auditor records changes in the writer's transaction.
type Auditor interface {
	RecordAll(tx *gorm.DB, entries []activity.Entry) error
}

// Store reads and changes projects and servers. Every change is one transaction
// that also writes its audit rows and publishes its topics.
type Store struct {
	db       *gorm.DB
	secrets  Secrets
	checkURL func(string) error
	audit    Auditor
	feed     Publisher
	now      func() time.Time
	exposed  bool
}

// Option configures a Store.
type Option func(*Store)

// Exposed is for a gateway that other machines can reach: projects with programs
// need authentication.
func Exposed() Option { return func(s *Store) { s.exposed = true } }

// NewStore returns the store of db. checkURL returns an error for an upstream
// URL that can't be saved. Changes are recorded in audit and published on feed.
func NewStore(db *gorm.DB, secrets Secrets, checkURL func(string) error, audit Auditor, feed Publisher, now func() time.Time, options ...Option) *Store {
	s := &Store{db: db, secrets: secrets, checkURL: checkURL, audit: audit, feed: feed, now: now}
	for _, o := range options {
		o(s)
	}
	return s
}

// Projects returns every project, by slug.
func (s *Store) Projects(ctx context.Context) ([]models.Project, error) {
	var rows []models.Project
	if err := s.db.WithContext(ctx).Order("slug").Find(&rows).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// Project returns the project with the slug, or NOT_FOUND.
func (s *Store) Project(ctx context.Context, slug string) (models.Project, error) {
	var row models.Project
	err := s.db.WithContext(ctx).First(&row, "slug = ?", slug).Error
	return row, notFound(err, "project", slug)
}

// Server returns the server with the id, or NOT_FOUND.
func (s *Store) Server(ctx context.Context, id string) (models.Server, error) {
	var row models.Server
	err := s.db.WithContext(ctx).First(&row, "id = ?", id).Error
	return row, notFound(err, "server", id)
}

// ProjectByID returns the project with the id, or NOT_FOUND.
func (s *Store) ProjectByID(ctx context.Context, id string) (models.Project, error) {
	var row models.Project
	err := s.db.WithContext(ctx).First(&row, "id = ?", id).Error
	return row, notFound(err, "project", id)
}

// Inventories returns the inventories of a project's servers by server id. A
// server that was never synced has none.
func (s *Store) Inventories(ctx context.Context, projectID string) (map[string]*models.Inventory, error) {
	var rows []models.Inventory
	err := s.db.WithContext(ctx).Find(&rows, "server_id IN (SELECT id FROM servers WHERE project_id = ?)", projectID).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	byServer := make(map[string]*models.Inventory, len(rows))
	for i := range rows {
		byServer[rows[i].ServerID] = &rows[i]
	}
	return byServer, nil
}

// Servers returns the servers of a project, by alias.
func (s *Store) Servers(ctx context.Context, projectID string) ([]models.Server, error) {
	return serversOf(s.db.WithContext(ctx), projectID)
}

func serversOf(tx *gorm.DB, projectID string) ([]models.Server, error) {
	var rows []models.Server
	if err := tx.Order("alias").Find(&rows, "project_id = ?", projectID).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// topicsOf returns every topic that changes when a project is deleted.
func topicsOf(projectID string) []notify.Topic {
	return []notify.Topic{notify.Toolset(projectID), notify.Keys(projectID), notify.Access(projectID), notify.Connectors(projectID)}
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
