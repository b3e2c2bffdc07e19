package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/services/metrics"
	"mcpgateway/web"
	"mcpgateway/web/guard"
	"mcpgateway/web/ratelimit"
)

// MetricsAccess restricts access to the metrics. The zero value rejects every
// request.
type MetricsAccess struct {
	Token    guard.TokenChecker      // may be nil
	Failures *ratelimit.FailureLimit // counts wrong tokens; required with Token
	// Open admits every request without a token. Direct admits those that came
	// without a proxy.
	Open, Direct bool
	// Elsewhere is set if another listener serves them.
	Elsewhere bool
}

// Metrics serves the counters of the process.
type Metrics struct {
	metrics *metrics.Metrics
	access  MetricsAccess
}

// NewMetrics returns the handler.
func NewMetrics(m *metrics.Metrics, access MetricsAccess) *Metrics {
	return &Metrics{metrics: m, access: access}
}

// Show serves GET /metrics in the Prometheus text format.
func (m *Metrics) Show(c *fiber.Ctx) error {
	if err := m.access.check(c); err != nil {
		return err
	}
	text, err := m.metrics.Text()
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, metrics.ContentType)
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Send(text)
}

// check returns NOT_FOUND if metrics are not served here, UNAUTHORIZED without
// the token, and RATE_LIMITED after too many wrong tokens.
func (a MetricsAccess) check(c *fiber.Ctx) error {
	switch {
	case a.Elsewhere:
		return metricsNotFound("Metrics are served at GATEWAY_METRICS_ADDR only.")
	case a.Token != nil:
		return a.checkToken(c)
	case a.Open, a.Direct && !web.ThroughProxy(c):
		return nil
	}
	return metricsNotFound("Metrics are off on this listener. Set GATEWAY_METRICS_TOKEN or GATEWAY_METRICS_ADDR.")
}

func (a MetricsAccess) checkToken(c *fiber.Ctx) error {
	scheme, given, _ := strings.Cut(c.Get(fiber.HeaderAuthorization), " ")
	bearer := strings.EqualFold(scheme, "bearer")
	if bearer && a.Token.Matches(strings.TrimSpace(given)) {
		return nil
	}
	if bearer {
		if err := a.Failures.Failed(c, ""); err != nil {
			return err
		}
	}
	c.Set(fiber.HeaderWWWAuthenticate, `Bearer realm="gateway metrics"`)
	return fault.New(fault.KindUnauthorized, fault.CodeUnauthorized, "Metrics require the header Authorization: Bearer GATEWAY_METRICS_TOKEN.")
}

func metricsNotFound(message string) error {
	return fault.New(fault.KindNotFound, fault.CodeNotFound, "%s", message)
}
