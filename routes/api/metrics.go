package api

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/metrics"
)

// Metrics serves the counters of the process.
type Metrics struct{ metrics *metrics.Metrics }

// NewMetrics returns the handler.
func NewMetrics(m *metrics.Metrics) *Metrics { return &Metrics{metrics: m} }

// Show serves GET /metrics in the text format of Prometheus.
func (m *Metrics) Show(c *fiber.Ctx) error {
	text, err := m.metrics.Text()
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, metrics.ContentType)
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Send(text)
}
