package services

import (
	"context"
	"fmt"
	"time"

	"mcpgateway/services/gateway"
	"mcpgateway/services/tracing"
)

// lastSpans is how long the collector may take to hear of the last requests.
const lastSpans = 2 * time.Second

// trace begins tracing when a collector is configured, and returns what calls
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
		return nil, fmt.Errorf("traces cannot be sent: %w", err)
	}
	s.Tracer = tracer
	return tracer.Calls(s.pool), nil
}

// endTrace sends what waits. A collector that cannot be reached is no failure
// of ours.
func (s *Services) endTrace() {
	if s.Tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastSpans)
	defer cancel()
	if err := s.Tracer.Close(ctx); err != nil {
		s.log.Warn("the last spans were not sent to the trace collector", "error", err)
	}
}
