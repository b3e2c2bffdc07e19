package connections

import (
	"context"
	"slices"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// maxReaders is the maximum number of users whose connections a sync tries.
const maxReaders = 20

// Auditor records a change in the writer's transaction.
type Auditor interface {
	Record(tx *gorm.DB, e activity.Entry) error
}

// Publisher notifies this process and others of committed changes.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Readers are the users whose connections read the tools of a server.
type Readers struct {
	db    *gorm.DB
	audit Auditor
	feed  Publisher
}

// NewReaders returns the Readers of the database.
func NewReaders(db *gorm.DB, audit Auditor, feed Publisher) *Readers {
	return &Readers{db: db, audit: audit, feed: feed}
}

// Of returns the ids of the users who let the gateway read the tools of a server
// with their connection: the one whose connection was used last or that an
// administrator chose, and then in the order in which they connected.
func (r *Readers) Of(ctx context.Context, server models.Server) ([]string, error) {
	var users []string
	err := r.db.WithContext(ctx).Model(&models.PersonalConnection{}).
		Where("server_id = ? AND inventory_ok = ? AND connected_at IS NOT NULL", server.ID, true).
		Order("connected_at, user_id").Limit(maxReaders).Pluck("user_id", &users).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	chosen := server.InventoryUserID
	if i := slices.Index(users, chosen); i > 0 {
		users = slices.Insert(slices.Delete(users, i, i+1), 0, chosen)
	}
	return users, nil
}

// Use stores that the tools of a server are read with the connection of a user,
// and records connection.inventory_changed.
func (r *Readers) Use(ctx context.Context, server models.Server, userID string) error {
	var slug string
	topic := notify.Toolset(server.ProjectID)
	err := r.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Model(&models.Project{}).Where("id = ?", server.ProjectID).Pluck("slug", &slug).Error; err != nil {
			return err
		}
		// The configuration stays the same, so the sessions stay.
		if err := tx.Model(&models.Server{}).Where("id = ?", server.ID).UpdateColumn("inventory_user_id", userID).Error; err != nil {
			return err
		}
		err := r.audit.Record(tx, activity.Entry{
			Action: "connection.inventory_changed", Object: server.Alias, ObjectID: server.ID, Project: slug, Detail: map[string]string{"personId": userID},
		})
		if err != nil {
			return err
		}
		return notify.Touch(tx, topic)
	})
	if err != nil {
		return fault.From(err)
	}
	return r.feed.Publish(ctx, topic)
}
