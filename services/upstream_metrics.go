package services

import (
	"mcpgateway/models"
	"mcpgateway/services/metrics"
	"mcpgateway/services/upstream"
)

// newMetrics returns the metrics of the services created so far.
func (s *Services) newMetrics(version string) *metrics.Metrics {
	var embedded func() metrics.EmbeddingStats
	if s.embeddings.On() {
		embedded = func() metrics.EmbeddingStats { return metrics.EmbeddingStats(s.embeddings.Stats()) }
	}
	var backedUp func() metrics.BackupStats
	if s.backups != nil {
		backedUp = func() metrics.BackupStats { return metrics.BackupStats(s.backups.Stats()) }
	}
	return metrics.New(metrics.Options{
		Version: version, Projects: s.upstreamStates, Syncs: s.Syncer.Syncs, Lost: s.Calls.Dropped, Unattributed: s.pool.Unattributed, Panics: s.Background.Panics, Connectors: s.Runners.Connectors, Embeddings: embedded, Backups: backedUp, Outbox: s.outboxStats,
		Alerts: s.FiringAlerts.Counts, Mail: s.Mail.Sent,
		Catalog: func() (servers, templates int) { return len(s.Catalog.AllEntries()), len(s.Catalog.AllTemplates()) },
	})
}

// upstreamStates returns the state of every enabled upstream server.
func (s *Services) upstreamStates() []metrics.Project {
	var all []metrics.Project
	for _, p := range s.Directory.All() {
		project := metrics.Project{ID: p.Project.ID, Slug: p.Project.Slug}
		for _, server := range p.Servers {
			if !server.Config.Enabled {
				continue
			}
			health := s.Syncer.Health(server.Config.ID)
			state := metrics.ServerStats{
				Alias: server.Config.Alias, Up: health.OK(), Failures: health.ConsecutiveFailures,
				Tried: health.OK() || health.ConsecutiveFailures > 0, Active: health.Active, Waiting: health.Waiting,
			}
			state.Open = health.Breaker.State == upstream.BreakerOpen || health.Breaker.State == upstream.BreakerHalfOpen
			if i := server.Inventory; i != nil {
				state.SyncedAt, state.SyncOK = health.LastSync(i.SyncedAt), i.SyncedAt != nil && i.ErrorCode == ""
			}
			if server.Config.IsProgram() {
				state.Program = s.programStats(server.Config)
			}
			project.Servers = append(project.Servers, state)
		}
		all = append(all, project)
	}
	return all
}

// programStats returns the state of a server's program, or nil if its runner is
// not connected.
func (s *Services) programStats(row models.Server) *metrics.ProgramStats {
	r := s.Runners.Record(row)
	if !r.Connected {
		return nil
	}
	return &metrics.ProgramStats{Processes: r.Processes, Memory: r.Memory, Starts: r.Starts, StrayLines: r.StrayLines, LastStart: r.LastStart}
}
