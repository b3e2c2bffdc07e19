package services

import (
	"context"

	"mcpgateway/services/metrics"
	"mcpgateway/services/outbox/delivery"
	"mcpgateway/services/outbox/destinations"
	"mcpgateway/services/outbox/sources"
)

// wireOutbox creates the destinations of events and the deliveries to them.
func (s *Services) wireOutbox(checkURL func(string) error) {
	c := s.Config
	s.sources = sources.New(s.DB, s.Events, now)
	s.Destinations = destinations.NewStore(destinations.Options{DB: s.DB, Audit: s.Audit, Keys: c.Keys, CheckURL: checkURL, Now: now})
	s.Deliveries = delivery.New(delivery.Options{
		DB: s.DB, Leaders: s.locks, Sender: delivery.NewSender(s.clients.Events(), c.Keys, c.PublicURL.String(), s.Version, now),
		HasFile: c.OutboxFile != "", Now: now, Log: s.log, Tasks: s.Background,
	})
}

// useOutboxFile applies GATEWAY_OUTBOX_FILE.
func (s *Services) useOutboxFile(ctx context.Context) error {
	return s.Destinations.UseFile(ctx, s.Config.OutboxFile)
}

// outboxStats returns the counters of deliveries for the metrics.
func (s *Services) outboxStats() metrics.OutboxStats {
	return metrics.OutboxStats(s.Deliveries.Stats())
}

// verifyAudit verifies the audit log, so that a change from outside raises an event.
func (s *Services) verifyAudit(ctx context.Context) error {
	_, err := s.Audit.Verify(ctx)
	return err
}
