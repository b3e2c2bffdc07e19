// Package operations restarts and stops the programs of servers for people, and
// reads their output.
package operations

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/runners/wire"
)

// Runners are the connections to runners. Implemented by runners.Runners.
type Runners interface {
	Restart(ctx context.Context, row models.Server) error
	Stop(ctx context.Context, row models.Server) error
	Output(ctx context.Context, row models.Server) (wire.Log, error)
}

// Audit records entries of the audit log.
type Audit interface {
	Record(tx *gorm.DB, e activity.Entry) error
}

// Operations restart and stop programs and read their output.
type Operations struct {
	db      *gorm.DB
	runners Runners
	audit   Audit
}

// New returns the operations on the servers of the database.
func New(db *gorm.DB, runners Runners, audit Audit) *Operations {
	return &Operations{db: db, runners: runners, audit: audit}
}

// Restart ends the processes of a server's program and starts it again, without
// waiting for the start. It writes server.restarted. Faults: NOT_FOUND, CONFLICT
// for a server with a URL, UPSTREAM_UNAVAILABLE if its runner can't be reached.
func (o *Operations) Restart(ctx context.Context, serverID string) error {
	return o.request(ctx, serverID, "server.restarted", o.runners.Restart)
}

// Stop ends the processes of a server's program, which the next call starts
// again. It writes server.stopped. Faults are those of Restart.
func (o *Operations) Stop(ctx context.Context, serverID string) error {
	return o.request(ctx, serverID, "server.stopped", o.runners.Stop)
}

func (o *Operations) request(ctx context.Context, serverID, action string, send func(context.Context, models.Server) error) error {
	row, err := o.server(ctx, serverID)
	if err != nil {
		return err
	}
	if err := send(ctx, row); err != nil {
		return err
	}
	// The entry is written even if the caller has gone, because it was done.
	err = o.db.WithContext(context.WithoutCancel(ctx)).Transaction(func(tx *gorm.DB) error {
		var project models.Project
		if err := tx.Select("id", "slug").Limit(1).Find(&project, "id = ?", row.ProjectID).Error; err != nil {
			return err
		}
		return o.audit.Record(tx, activity.Entry{Action: action, Object: row.Alias, ObjectID: row.ID, Project: project.Slug})
	})
	if err != nil {
		return fault.Internal(err)
	}
	return nil
}

// Log returns the latest output of a server's program, without texts that look
// like secrets. Faults are those of Restart.
func (o *Operations) Log(ctx context.Context, serverID string) (wire.Log, error) {
	row, err := o.server(ctx, serverID)
	if err != nil {
		return wire.Log{}, err
	}
	return o.runners.Output(ctx, row)
}

func (o *Operations) server(ctx context.Context, id string) (row models.Server, err error) {
	err = o.db.WithContext(ctx).First(&row, "id = ?", id).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return row, fault.NotFound("server", id)
	case err != nil:
		return row, fault.Internal(err)
	}
	return row, nil
}
