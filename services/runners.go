package services

import (
	"context"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/runners"
	"mcpgateway/services/runners/connectors"
	"mcpgateway/services/runners/operations"
	"mcpgateway/services/runners/rows"
)

// wireRunners creates the connections to runners and the rows of their programs.
func (s *Services) wireRunners(clock func() time.Time) {
	s.Rows = rows.New(rows.Options{
		DB: s.DB, Audit: s.Audit, Feed: s.feed, Now: clock, Log: s.log,
		Refused: func(id string, refused map[string]string) { s.ConnectorHub.Refused(id, refused) }, // set below
	})
	s.Runners = runners.New(runners.Options{
		Listed: s.Rows.Listed, Elsewhere: s.Rows.Elsewhere, Changed: s.programChanged, Audit: s.recordRunner,
		Now: now, Log: s.log, Tasks: s.Background,
	})
	s.Connectors = connectors.New(s.DB, s.Audit, s.feed, clock)
	s.ConnectorHub = connectors.NewHub(connectors.HubOptions{
		Store: s.Connectors, Replicas: s.Rows, Attach: s.Runners.Attach, Log: s.log, Tasks: s.Background,
	})
	s.Operations = operations.New(s.DB, s.Runners, s.Audit)
}

// programChanged plans the sync of a server whose program has another state. Calls
// to a program that runs again are no longer paused.
func (s *Services) programChanged(serverID string) {
	if s.Runners.IsRunning(serverID) {
		s.pool.Resume(serverID)
	}
	s.Syncer.ProgramChanged(serverID)
}

// RunsPrograms reports whether a runner is connected, so that local servers can run.
func (s *Services) RunsPrograms() bool { return len(s.Runners.All()) > 0 }

// recordRunner writes an audit entry about a runner. Its object is the connector,
// or the runner of this machine.
func (s *Services) recordRunner(ctx context.Context, e runners.Event) error {
	entry := activity.Entry{Action: e.Action, Object: "this machine", ObjectID: e.Runner, Detail: e.Detail}
	if p := s.Directory.ProjectByID(e.Peer.ProjectID); p != nil {
		entry.Project = p.Project.Slug
	}
	return s.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if e.Peer.ConnectorID != "" {
			var connector models.Connector
			if err := tx.Select("id", "name").Limit(1).Find(&connector, "id = ?", e.Peer.ConnectorID).Error; err != nil {
				return err
			}
			entry.Object, entry.ObjectID = connector.Name, connector.ID
		}
		return s.Audit.Record(tx, entry)
	})
}
