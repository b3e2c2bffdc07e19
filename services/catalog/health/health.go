// Package health checks the remote servers of the catalog as anyone could: it
// connects without credentials and lists the tools that are open to everyone.
package health

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/upstream"
)

// Client connects to upstream servers. Implemented by pool.Pool.
type Client interface {
	Describe(ctx context.Context, t *upstream.Target) (*upstream.Description, error)
	ListTools(ctx context.Context, t *upstream.Target) ([][]byte, *upstream.Description, []string, error)
	Drop(serverID string)
}

// Auditor records changes within their transaction.
type Auditor interface {
	Record(tx *gorm.DB, e activity.Entry) error
}

// Publisher publishes committed changes to this process and to others.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Options are the parts of a Checker. All except Timeout are required.
type Options struct {
	DB     *gorm.DB
	Client Client // used for nothing else, so that its records are only those of checks
	Audit  Auditor
	Feed   Publisher
	Now    func() time.Time
	Log    *slog.Logger
	// Timeout limits the handshake, and listing the tools; 0 means 15 s.
	Timeout time.Duration
}

// Checker checks the remote servers of the catalog and stores the results. It
// is safe for concurrent use.
type Checker struct {
	Options
	manual      chan struct{} // semaphore of Check
	unpublished bool          // of Run
	publishedAt time.Time     // of Run
}

// New returns a checker. Run does the daily checks.
func New(o Options) *Checker {
	o.Timeout = cmp.Or(o.Timeout, requestTimeout)
	return &Checker{Options: o, manual: make(chan struct{}, maxManual)}
}

// Check checks the server of a catalog row and returns the stored result, also
// if the server failed. It is audited. It returns NOT_FOUND for an unknown row,
// and CONFLICT for a program and while too many checks run.
func (c *Checker) Check(ctx context.Context, entryID string) (*models.CatalogCheck, error) {
	select {
	case c.manual <- struct{}{}:
		defer func() { <-c.manual }()
	default:
		return nil, fault.Conflict("%d checks are running. Retry shortly.", maxManual)
	}
	entry, err := c.entry(ctx, entryID)
	if err != nil {
		return nil, err
	}
	if entry.RemoteURL == "" {
		return nil, fault.Conflict("%s runs as a program. Only remote servers can be checked.", entry.ServerTitle)
	}
	found, err := c.probe(ctx, entry)
	if err != nil {
		return nil, fault.From(err)
	}
	check, err := c.store(ctx, entryID, found, func(tx *gorm.DB, check *models.CatalogCheck) error {
		if err := c.Audit.Record(tx, audited(entry, check)); err != nil {
			return err
		}
		return notify.Touch(tx, notify.Catalog())
	})
	if err != nil {
		return nil, err
	}
	return check, c.Feed.Publish(ctx, notify.Catalog())
}

func audited(entry *models.CatalogEntry, check *models.CatalogCheck) activity.Entry {
	detail := map[string]string{"state": string(check.State), "url": entry.RemoteURL}
	if check.Message != "" {
		detail["message"] = check.Message
	}
	return activity.Entry{Action: "catalog.checked", Object: entry.PublisherName + "/" + entry.ServerName, ObjectID: entry.ID, Detail: detail}
}

func (c *Checker) entry(ctx context.Context, id string) (*models.CatalogEntry, error) {
	var row models.CatalogEntry
	err := c.DB.WithContext(ctx).Omit("document").First(&row, "id = ?", id).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return nil, fault.NotFound("catalog entry", id)
	case err != nil:
		return nil, fault.Internal(err)
	}
	return &row, nil
}
