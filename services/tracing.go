package services

import (
	"context"
	"fmt"
	"time"

	"mcpgateway/services/gateway"
	"mcpgateway/services/tracing"
)

// flushTimeout is the timeout for sending the last spans to the collector.
const flushTimeout = 2 * time.Second

// trace starts tracing if a collector is configured, and returns the caller of
// upstream servers.
func (s *Services) trace(ctx context.Context, version string) (gateway.Caller, error) {
	c := s.Config.Tracing
	if c.Endpoint == "" {
		return s.pool, nil
	}
	tracer, err := tracing.New(ctx, tracing.Options{
		Endpoint: c.Endpoint, Service: c.Service, Sampler: c.Sampler, Client: s.clients.Telemetry(), Version: version, Log: s.log,
	})
	if err != nil {
		return nil, fmt.Errorf("start tracing: %w", err)
	}
	s.Tracer = tracer
	return tracer.Calls(s.pool), nil
}

// endTrace sends the queued spans. An unreachable collector is only logged.
func (s *Services) endTrace() {
	if s.Tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := s.Tracer.Close(ctx); err != nil {
		s.log.Warn("last spans not sent", "error", err)
	}
}
