package api

import (
	"context"
	"errors"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
)

// readyTimeout limits the readiness checks.
const readyTimeout = 2 * time.Second

// Health serves the probes of process supervisors and load balancers.
type Health struct{ ready func(context.Context) error }

// NewHealth returns the probes. ready returns the reason for which requests
// can't be served: a fault is returned to the client, any other error is
// logged.
func NewHealth(ready func(context.Context) error) *Health { return &Health{ready: ready} }

// Live serves GET /healthz, which reports liveness.
func (h *Health) Live(c *fiber.Ctx) error { return c.JSON(fiber.Map{"status": "ok"}) }

// Ready serves GET /readyz: 200 if requests can be served, otherwise 503.
func (h *Health) Ready(c *fiber.Ctx) error {
	ctx, cancel := context.WithTimeout(c.UserContext(), readyTimeout)
	defer cancel()
	if err := h.ready(ctx); err != nil {
		var f *fault.Fault
		if errors.As(err, &f) {
			return f
		}
		return fault.New(fault.KindUnavailable, fault.CodeUnavailable, "Not ready.").Because(err)
	}
	return c.JSON(fiber.Map{"status": "ready"})
}
