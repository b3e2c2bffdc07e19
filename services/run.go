package services

import (
	"context"
	"fmt"
	"sync"
	"time"

	"mcpgateway/services/config"
	"mcpgateway/services/notify"
)

// saveUseInterval is the interval for storing the keys' times of last use.
const saveUseInterval = time.Minute

// part is a named function.
type part[F any] struct {
	name string
	do   F
}

// subscribers handle each committed change of any replica, in this order.
func (s *Services) subscribers() []part[func(context.Context, notify.Topic) error] {
	return []part[func(context.Context, notify.Topic) error]{
		{"project snapshots", s.Directory.Changed},
		{"declared servers", s.Rows.Changed},
		{"lists of runners", s.Runners.ServersChanged},
		{"keys", s.KeyIndex.Changed},
		{"connectors", s.ConnectorHub.Changed},
		{"groups", s.groupIndex.Changed},
		{"rights", s.Rights.Changed},
		{"access tokens", s.tokenIndex.Changed},
		{"upstream connections", s.Connections.Changed},
		{"pending authorizations", s.Waiting.Changed},
		{"sync schedule", s.Syncer.Changed},
		{"deleted sessions and indexes", s.dropStale},
		{"client subscriptions", s.Subscriptions.Changed},
		{"calls of users without a connection", s.accountChanged},
		{"ended sessions", s.EndedSessions.Changed},
		{"log levels", s.LogLevels.Changed},
		{"learned revisions", s.Revisions.Changed},
		{"finished results", s.Finished.Changed},
		{"catalog", s.Catalog.Changed},
		{"catalog icons", s.CatalogIcons.Changed},
		{"embeddings", s.embeddings.Changed},
		{"firing alerts", s.FiringAlerts.Changed},
	}
}

// loads read data into memory before the first request, in this order.
func (s *Services) loads() []part[func(context.Context) error] {
	return []part[func(context.Context) error]{
		{"replica", s.Rows.Start},
		{"address claims", s.Syncer.Claims.Start},
		{"project snapshots", s.Directory.Load},
		{"keys", s.KeyIndex.Load},
		{"groups", s.groupIndex.Load},
		{"rights", s.Rights.Load},
		{"pending authorizations", s.Waiting.Load},
		{"ended sessions", s.EndedSessions.Load},
		{"log levels", s.LogLevels.Load},
		{"learned revisions", s.Revisions.Load},
		{"calls of limits", s.Quotas.Load},
		{"built-in catalog", s.loadBuiltinCatalog},
		{"catalog", s.Catalog.Load},
		{"catalog icons", s.CatalogIcons.Load},
		{"sync schedule", s.Syncer.Plan},
		{"file of events", s.useOutboxFile},
		{"firing alerts", s.FiringAlerts.Load},
	}
}

// loops run in every replica from the first request on.
func (s *Services) loops() []part[func(context.Context)] {
	return []part[func(context.Context)]{
		{"syncs", s.Syncer.Run},
		{"replica heartbeat", s.Rows.Run},
		{"event deliveries", s.Deliveries.Run},
		{"connectors", s.ConnectorHub.Run},
		{"server history", s.History.Run},
		{"connections", s.Connections.Run},
		{"key usage", s.saveUse},
		{"memberships", func(ctx context.Context) { s.groupIndex.Run(ctx, s.Subscriptions.Recheck) }},
		{"call log", s.Calls.Run},
		{"refused requests", s.Refused.Run},
		{"public URL", s.Doctor.WarnRedirect},
		{"calls of limits", s.Quotas.Run},
		{"run traces", s.CodeRuns.Run},
		{"catalog", s.Catalog.Run},
		{"catalog schedule", func(ctx context.Context) { s.locks.RunAsLeader(ctx, "catalog schedule", s.catalogSchedule.Run) }},
		{"catalog icons", s.CatalogIcons.Run},
		{"catalog checks", s.checkCatalog},
		{"embeddings", s.embeddings.Run},
		{"alerts", func(ctx context.Context) { s.locks.RunAsLeader(ctx, "alerts", s.alerts.Run) }},
		{"new embeddings", s.computeEmbeddings},
		{"backups", s.backUp},
	}
}

// backUp runs the scheduled backups. One process runs them.
func (s *Services) backUp(ctx context.Context) {
	if s.backups != nil {
		s.locks.RunAsLeader(ctx, "backups", s.backups.Run)
	}
}

// Run loads the data for serving requests and keeps it current until the
// context ends. It handles changes, listens to upstream servers, syncs them and
// stores when keys were used. It calls ready once requests can be served.
func (s *Services) Run(ctx context.Context, ready func()) error {
	for _, subscriber := range s.subscribers() {
		s.feed.Subscribe(subscriber.do)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	defer running.Wait()
	feedEnd := make(chan error, 1)
	running.Go(s.Background.Loop(ctx, "change feed", func(ctx context.Context) { feedEnd <- s.feed.Run(ctx) }))
	for _, load := range s.loads() {
		if err := load.do(ctx); err != nil {
			cancel()
			return fmt.Errorf("load %s: %w", load.name, err)
		}
	}
	if err := s.keepReserve(ctx); err != nil {
		s.log.Warn("disk reserve not filled", "error", err)
	}
	sweeps := s.sweeps() // before requests are served
	ready()
	for _, loop := range s.loops() {
		running.Go(s.Background.Loop(ctx, loop.name, loop.do))
	}
	for _, sweep := range sweeps {
		name := "sweep " + sweep.name
		running.Go(s.Background.Loop(ctx, name, func(ctx context.Context) { s.locks.RunAsLeader(ctx, name, sweep.run) }))
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-feedEnd:
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("change feed ended: %w", err)
	}
}

// loadBuiltinCatalog loads the built-in catalog into the database if it is
// enabled and missing.
func (s *Services) loadBuiltinCatalog(ctx context.Context) error {
	if !s.Config.BuiltinCatalog {
		return nil
	}
	return s.CatalogStore.LoadDefaults(ctx)
}

// checkCatalog checks the remote servers of the catalog daily, in one replica,
// if that is turned on.
func (s *Services) checkCatalog(ctx context.Context) {
	if s.Config.CatalogProbe == config.ProbeDaily {
		s.locks.RunAsLeader(ctx, "catalog checks", s.CatalogChecks.Run)
	}
}

// computeEmbeddings requests the missing embeddings of tools, in one replica, if
// they are turned on.
func (s *Services) computeEmbeddings(ctx context.Context) {
	if s.embeddings.On() {
		s.locks.RunAsLeader(ctx, "embeddings", s.embeddings.Compute)
	}
}

// accountChanged continues the calls and syncs that wait for the user's own
// account of a topic. It ignores other topics.
func (s *Services) accountChanged(ctx context.Context, topic notify.Topic) error {
	if serverID, userID, ok := topic.ConnectionOf(); ok && userID != "" {
		s.Gateway.ConnectionChanged(ctx, serverID, userID)
		s.Syncer.ConnectionChanged(serverID)
	}
	return nil
}

// accountEnded ends the upstream sessions of a user's own account that was
// connected or disconnected.
func (s *Services) accountEnded(serverID, userID string) {
	s.pool.DropPerson(serverID, userID)
	s.Subscriptions.ConnectionChanged(serverID, userID)
}

// dropStale ends the upstream sessions of disabled servers and drops the search
// index of a deleted project.
func (s *Services) dropStale(_ context.Context, topic notify.Topic) error {
	projectID, ok := topic.ToolsetOf()
	if !ok {
		return nil
	}
	project := s.Directory.ProjectByID(projectID)
	if project == nil {
		s.ToolSearch.Drop(projectID)
		s.Declarations.Forget(projectID)
		s.Views.Forget(projectID)
		return nil
	}
	for _, server := range project.Servers {
		if !server.Config.Enabled {
			s.pool.Drop(server.Config.ID)
		}
	}
	return nil
}

func (s *Services) saveUse(ctx context.Context) {
	tick := time.NewTicker(saveUseInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			if err := s.KeyIndex.SaveUse(last); err != nil {
				s.log.Warn("key usage not saved", "error", err)
			}
			return
		case <-tick.C:
		case <-s.KeyIndex.FirstUses():
		}
		if err := s.KeyIndex.SaveUse(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("key usage not saved", "error", err)
		}
	}
}
