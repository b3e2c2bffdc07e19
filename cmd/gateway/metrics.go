package main

import (
	"context"
	"log/slog"
	"net"

	"mcpgateway/routes"
	"mcpgateway/services"
	"mcpgateway/web/conn"
)

// serveMetrics serves /metrics at GATEWAY_METRICS_ADDR until stop is called.
// Without that setting it does nothing.
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
		if err := shut(app); err != nil {
			log.Warn("metrics listener did not stop in time", "error", err)
		}
		_ = listener.Close() // in case it had not begun to serve
		if err := <-ended; err != nil {
			log.Warn("metrics listener failed", "error", err)
		}
	}, nil
}
