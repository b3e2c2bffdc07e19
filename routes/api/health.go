package api

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
)

// readyTimeout bounds the questions that readiness asks.
const readyTimeout = 2 * time.Second

// Health serves the probes of process supervisors and balancers.
type Health struct{ ready func(context.Context) error }

// NewHealth returns the probes; ready says whether requests can be served.
func NewHealth(ready func(context.Context) error) *Health { return &Health{ready: ready} }

// Live serves GET /healthz: the process runs.
func (h *Health) Live(c *fiber.Ctx) error { return c.JSON(fiber.Map{"status": "ok"}) }

// Ready serves GET /readyz: 200 when requests can be served, else 503.
func (h *Health) Ready(c *fiber.Ctx) error {
	ctx, cancel := context.WithTimeout(c.UserContext(), readyTimeout)
	defer cancel()
	if err := h.ready(ctx); err != nil {
		return fault.New(fault.KindUnavailable, fault.CodeUnavailable, "not ready").Because(err)
	}
	return c.JSON(fiber.Map{"status": "ready"})
}
