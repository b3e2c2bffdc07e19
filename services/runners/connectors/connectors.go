// Package connectors manages the runners on other computers: their tokens, and
// their connections to this process.
package connectors

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/locks"
	"mcpgateway/services/notify"
	"mcpgateway/services/runners/wire"
	"mcpgateway/services/secrets"
)

// DefaultLifetime is the lifetime of a token if none is given.
const DefaultLifetime = 90 * 24 * time.Hour

// MaxName is the maximum number of characters of a connector's name.
const MaxName = 100

const (
	tokenPrefix   = "gwc_"
	displayLength = 8 // characters of a token that are stored for display
)

// Publisher publishes committed changes to this process and to others.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Auditor records changes in the writer's transaction.
type Auditor interface {
	RecordAll(tx *gorm.DB, entries []activity.Entry) error
}

// Store creates, lists and revokes connectors. Every change writes its audit row
// in the same transaction.
type Store struct {
	db    *gorm.DB
	audit Auditor
	feed  Publisher
	now   func() time.Time
}

// New returns the Store of the database. Changes are recorded in audit and
// published on feed.
func New(db *gorm.DB, audit Auditor, feed Publisher, now func() time.Time) *Store {
	return &Store{db: db, audit: audit, feed: feed, now: now}
}

// Attributes are the attributes of a connector to create.
type Attributes struct {
	Name     string
	Lifetime time.Duration // of its token; 0 means DefaultLifetime
}

func (a *Attributes) validate() error {
	a.Name = strings.TrimSpace(a.Name)
	if a.Lifetime == 0 {
		a.Lifetime = DefaultLifetime
	}
	fields := map[string]string{}
	if n := utf8.RuneCountInString(a.Name); n == 0 || n > MaxName || strings.ContainsFunc(a.Name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		fields["name"] = "Use 1 to 100 printable characters."
	}
	if a.Lifetime < time.Second {
		fields["expires"] = "Use a time in the future."
	}
	if len(fields) > 0 {
		return fault.Validation(fields)
	}
	return nil
}

// Create stores a new connector of a project and records connector.created. It
// returns the row and the token, which isn't stored and can't be read again. It
// returns VALIDATION_FAILED for an invalid name or lifetime, NOT_FOUND for an
// unknown project, and CONFLICT if the project has too many connectors.
func (s *Store) Create(ctx context.Context, projectID string, a Attributes) (models.Connector, secrets.Value, error) {
	if err := a.validate(); err != nil {
		return models.Connector{}, secrets.Value{}, err
	}
	var row models.Connector
	var text secrets.Value
	err := s.change(ctx, projectID, func(c *change) error {
		var usable int64
		err := s.usable(c.tx.Model(&models.Connector{})).Where("project_id = ?", projectID).Count(&usable).Error
		if err != nil {
			return err
		}
		if usable >= wire.MaxConnectors {
			return fault.Conflict("The project has %d connectors, the maximum. Revoke some first.", usable)
		}
		row, text = s.newRow(projectID, a)
		if err := c.tx.Create(&row).Error; err != nil {
			return err
		}
		c.note("connector.created", row.Name, row.ID, map[string]string{"expires": row.ExpiresAt.Format(time.RFC3339)})
		return nil
	})
	if err != nil {
		return models.Connector{}, secrets.Value{}, err
	}
	return row, text, nil
}

func (s *Store) newRow(projectID string, a Attributes) (models.Connector, secrets.Value) {
	text := keys.NewText(tokenPrefix)
	hash, _ := keys.ParseText(tokenPrefix, text.Reveal())
	now := s.now()
	return models.Connector{
		ID: uuid.Must(uuid.NewV7()).String(), ProjectID: projectID, Name: a.Name, Hash: hash[:], Prefix: text.Reveal()[:displayLength],
		CreatedAt: now, ExpiresAt: now.Add(a.Lifetime.Truncate(time.Millisecond)),
	}, text
}

// usable selects the connectors that may connect.
func (s *Store) usable(tx *gorm.DB) *gorm.DB {
	return tx.Where("revoked_at IS NULL AND expires_at > ?", s.now())
}

// List returns every connector of the project, newest first.
func (s *Store) List(ctx context.Context, projectID string) ([]models.Connector, error) {
	var rows []models.Connector
	if err := s.db.WithContext(ctx).Order("created_at DESC, id DESC").Find(&rows, "project_id = ?", projectID).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// Get returns the connector with the ID, or NOT_FOUND.
func (s *Store) Get(ctx context.Context, id string) (models.Connector, error) {
	var row models.Connector
	err := s.db.WithContext(ctx).First(&row, "id = ?", id).Error
	return row, notFound(err, id)
}

func notFound(err error, id string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, gorm.ErrRecordNotFound):
		return fault.NotFound("connector", id)
	}
	return fault.From(err)
}

// Revoke ends a connector and records connector.revoked. Its connections are cut
// on every replica, and its servers become undeclared. It does nothing for a
// revoked connector, and returns NOT_FOUND for an unknown one.
func (s *Store) Revoke(ctx context.Context, projectID, id string) error {
	return models.Essential(s.db, func() error {
		return s.change(ctx, projectID, func(c *change) error {
			var row models.Connector
			err := c.tx.First(&row, "id = ? AND project_id = ?", id, projectID).Error
			if err != nil || row.RevokedAt != nil {
				return notFound(err, id)
			}
			if err := c.tx.Model(&models.Connector{}).Where("id = ?", id).Update("revoked_at", s.now()).Error; err != nil {
				return err
			}
			c.note("connector.revoked", row.Name, row.ID, nil)
			return c.abandon(&row)
		})
	})
}

// abandon hides the servers of a connector.
func (c *change) abandon(row *models.Connector) error {
	var servers []models.Server
	if err := c.tx.Order("alias").Find(&servers, "connector_id = ? AND NOT undeclared", row.ID).Error; err != nil || len(servers) == 0 {
		return err
	}
	if err := c.tx.Model(&models.Server{}).Where("connector_id = ?", row.ID).UpdateColumn("undeclared", true).Error; err != nil {
		return err
	}
	for _, server := range servers {
		c.note("server.undeclared", server.Alias, server.ID, map[string]string{"source": string(server.Source), "connector": row.Name})
	}
	c.topics = append(c.topics, notify.Toolset(row.ProjectID))
	return nil
}

// Authenticate returns the connector of a token. It returns UNAUTHORIZED for an
// unknown, revoked or expired one, with a message that distinguishes them.
func (s *Store) Authenticate(ctx context.Context, token string) (models.Connector, error) {
	var row models.Connector
	hash, ok := keys.ParseText(tokenPrefix, token)
	if !ok {
		return row, refused("The connector's token is wrong.")
	}
	err := s.db.WithContext(ctx).First(&row, "hash = ?", hash[:]).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return row, refused("The connector's token is wrong.")
	case err != nil:
		return row, fault.From(err)
	case row.RevokedAt != nil:
		return row, refused("The connector's token was revoked. Create a new connector.")
	case !s.now().Before(row.ExpiresAt):
		return row, refused("The connector's token has expired. Create a new connector.")
	}
	return row, nil
}

func refused(why string) error {
	return fault.New(fault.KindUnauthorized, fault.CodeUnauthorized, "%s", why)
}

// change is one transaction over the connectors of a project.
type change struct {
	tx      *gorm.DB
	slug    string
	entries []activity.Entry
	topics  []notify.Topic
}

func (c *change) note(action, object, id string, detail map[string]string) {
	c.entries = append(c.entries, activity.Entry{Action: action, Object: object, ObjectID: id, Project: c.slug, Detail: detail})
}

// change runs work in a transaction that locks the project. It records its
// entries and raises its topics, and that of the project's connectors. After the
// commit it publishes them. It returns NOT_FOUND for an unknown project.
func (s *Store) change(ctx context.Context, projectID string, work func(*change) error) error {
	var c *change
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := locks.InTransaction(tx, "projects"); err != nil { // as changes of servers do
			return err
		}
		var project models.Project
		err := tx.Clauses(models.LockRow(tx)...).Select("id", "slug").First(&project, "id = ?", projectID).Error
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return fault.NotFound("project", projectID)
		}
		if err != nil {
			return err
		}
		c = &change{tx: tx, slug: project.Slug, topics: []notify.Topic{notify.Connectors(projectID)}}
		if err := work(c); err != nil {
			return err
		}
		if err := s.audit.RecordAll(tx, c.entries); err != nil {
			return err
		}
		return notify.Touch(tx, c.topics...)
	})
	if err != nil {
		return fault.From(err)
	}
	return s.feed.Publish(ctx, c.topics...)
}
