package api

import (
	"context"
	"errors"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
)

// readyTimeout bounds the questions that readiness asks.
const readyTimeout = 2 * time.Second

// Health serves the probes of process supervisors and balancers.
type Health struct{ ready func(context.Context) error }

// NewHealth returns the probes; ready says why requests cannot be served: with
// a fault, that is answered, or with what is wrong, that is logged.
func NewHealth(ready func(context.Context) error) *Health { return &Health{ready: ready} }

// Live serves GET /healthz: the process runs.
func (h *Health) Live(c *fiber.Ctx) error { return c.JSON(fiber.Map{"status": "ok"}) }

// Ready serves GET /readyz: 200 when requests can be served, else 503.
func (h *Health) Ready(c *fiber.Ctx) error {
	ctx, cancel := context.WithTimeout(c.UserContext(), readyTimeout)
	defer cancel()
	if err := h.ready(ctx); err != nil {
		var f *fault.Fault
		if errors.As(err, &f) {
			return f
		}
		return fault.New(fault.KindUnavailable, fault.CodeUnavailable, "not ready").Because(err)
	}
	return c.JSON(fiber.Map{"status": "ready"})
}
