package services

import (
	"context"
	"log/slog"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/outbox/delivery"
	"mcpgateway/services/outbox/sources"
	"mcpgateway/services/runners/rows"
)

// Intervals of the sweeps that delete expired rows. One replica runs each
// sweep.
const (
	firstSweep         = time.Minute // after a replica became the leader
	sweepInterval      = time.Hour
	callsSweepInterval = 10 * time.Minute
	auditSweepInterval = 24 * time.Hour
	verifyInterval     = 24 * time.Hour
)

// sweep deletes expired rows periodically.
type sweep struct {
	name  string // as in "sweep people"; replicas agree on the leader by it
	every time.Duration
	do    func(context.Context) error
	log   *slog.Logger
}

// sweeps returns all sweeps: of users' sessions and failed sign-ins, of their
// grants to clients, of disabled users' connections, of old calls, runs of code
// and audit rows, of results that no client fetched, of artifacts, of calls
// counted against limits, of daily numbers of calls, of refused requests, of tasks,
// of the history of servers, of delivered events, of addresses that no server
// shows, of icons without a catalog row, of embeddings without a tool, of
// resolved alerts and of dead replicas. Two others check keys that expire and the
// audit log.
func (s *Services) sweeps() []sweep {
	return []sweep{
		{"people", sweepInterval, s.People.Sweep, s.log},
		{"grants", sweepInterval, s.OAuth.Sweep, s.log},
		{"connections", sweepInterval, s.Connections.SweepDisabled, s.log},
		{"calls", callsSweepInterval, s.Calls.Sweep, s.log},
		{"code runs", sweepInterval, s.CodeRuns.Sweep, s.log},
		{"audit", auditSweepInterval, s.sweepAudit, s.log},
		{"usage", sweepInterval, s.Usage.Sweep, s.log},
		{"refused requests", sweepInterval, s.Refused.Sweep, s.log},
		{"finished results", callsSweepInterval, s.Finished.Sweep, s.log},
		{"artifacts", callsSweepInterval, s.Artifacts.Sweep, s.log},
		{"calls of limits", sweepInterval, s.Quotas.Sweep, s.log},
		{"tasks", sweepInterval, s.tasks.Sweep, s.log},
		{"server history", sweepInterval, s.History.Sweep, s.log},
		{"events", delivery.SweepInterval, s.Deliveries.Sweep, s.log},
		{"expiring keys", sources.KeysInterval, s.sources.Keys, s.log},
		{"audit verification", verifyInterval, s.verifyAudit, s.log},
		{"address claims", sweepInterval, s.Syncer.Claims.Sweep, s.log},
		{"catalog icons", sweepInterval, s.CatalogIcons.Sweep, s.log},
		{"embeddings", sweepInterval, s.embeddings.Sweep, s.log},
		{"alerts", sweepInterval, s.Alerts.Sweep, s.log},
		{"replicas", rows.SweepInterval, s.Rows.Sweep, s.log},
		{"reserve", sweepInterval, s.keepReserve, s.log},
	}
}

// run runs the sweep periodically until the context ends.
func (w sweep) run(ctx context.Context) {
	timer := time.NewTimer(min(firstSweep, w.every))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := w.do(ctx); err != nil && ctx.Err() == nil {
			w.log.Warn("sweep failed", "sweep", w.name, "error", err)
		}
		timer.Reset(w.every)
	}
}

// sweepAudit deletes the audit rows that are older than the operator's setting.
func (s *Services) sweepAudit(ctx context.Context) error {
	if s.Config.AuditYears == 0 {
		return nil
	}
	_, err := s.Audit.Trim(ctx, now().AddDate(-s.Config.AuditYears, 0, 0))
	return err
}

// keepReserve fills the disk reserve, so that revocations can be stored when
// the disk is full.
func (s *Services) keepReserve(context.Context) error { return models.KeepReserve(s.DB) }
