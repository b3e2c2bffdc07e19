package main

import (
	"context"
	"log/slog"
	"net"

	"mcpgateway/routes"
	"mcpgateway/services"
	"mcpgateway/web/conn"
)

// serveMetrics serves /metrics at GATEWAY_METRICS_ADDR until stop is called. It
// does nothing if the address is not set.
func serveMetrics(ctx context.Context, s *services.Services, log *slog.Logger) (stop func(), err error) {
	addr := s.Config.Metrics.Addr
	if addr == "" {
		return func() {}, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	app := routes.NewMetrics(s, log)
	ended := make(chan error, 1)
	s.Background.Go("metrics listener", func() {
		ended <- s.Background.Try("metrics listener", func() error { return app.Listener(conn.Listener(listener)) })
	})
	log.Info("serving metrics", "address", listener.Addr().String())
	return func() {
		if err := shutdown(app); err != nil {
			log.Warn("metrics listener did not stop in time", "error", err)
		}
		_ = listener.Close() // in case serving had not started
		if err := <-ended; err != nil {
			log.Warn("metrics listener failed", "error", err)
		}
	}, nil
}
