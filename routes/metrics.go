package routes

import (
	"log/slog"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/api"
	"mcpgateway/services"
	"mcpgateway/services/access/keys"
	"mcpgateway/web"
	"mcpgateway/web/ratelimit"
)

const metricsPath = "/metrics"

// NewMetrics returns the application of GATEWAY_METRICS_ADDR, which only serves
// /metrics. It accepts IP addresses as Host, because Prometheus uses them for
// discovered targets.
func NewMetrics(s *services.Services, log *slog.Logger) *fiber.App {
	c := s.Config
	names := web.NewNames(c.PublicURL, c.AllowedHosts, nil, c.Metrics.Loopback)
	names.AllowAddresses()
	app := web.New(web.Options{Names: names, TrustedProxies: c.TrustedProxies, Log: log, Background: s.Background, Help: help(c.PublicURL), Draining: s.Draining})
	access := metricsToken(s)
	access.Open = true
	show := api.NewMetrics(s.Metrics, access).Show
	app.Get(metricsPath, web.Route(metricsPath), show)
	return app
}

// metricsAccess returns the access rule for /metrics on the gateway's own
// listener.
func metricsAccess(s *services.Services) api.MetricsAccess {
	access := metricsToken(s)
	access.Elsewhere = s.Config.Metrics.Addr != ""
	access.Direct = s.Config.LoopbackListener
	return access
}

func metricsToken(s *services.Services) api.MetricsAccess {
	token := s.Config.Metrics.Token
	if token.IsZero() {
		return api.MetricsAccess{}
	}
	return api.MetricsAccess{Token: keys.NewAdminToken(token), Failures: ratelimit.NewFailureLimit(time.Now)}
}
