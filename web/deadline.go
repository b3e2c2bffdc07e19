package web

import (
	"context"
	"errors"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
)

// retryLate is the Retry-After of a request that exceeded its deadline. A
// database that hangs rarely recovers at once.
const retryLate = 5 * time.Second

// Deadline cancels the context of the following handlers after limit, so that a
// database that hangs cannot hold a request and its connections forever. An
// internal error after the deadline becomes UNAVAILABLE (503) with Retry-After.
// Other faults are unchanged.
func Deadline(limit time.Duration) fiber.Handler {
	return func(c *fiber.Ctx) error {
		ctx, cancel := context.WithTimeout(c.UserContext(), limit)
		defer cancel()
		c.SetUserContext(ctx)
		err := c.Next()
		// The error handler still needs a live context.
		c.SetUserContext(context.WithoutCancel(c.UserContext()))
		if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) || fault.From(err).Kind != fault.KindInternal {
			return err
		}
		late := fault.New(fault.KindUnavailable, fault.CodeUnavailable,
			"The request exceeded its limit of %v. The database may be unreachable. Retry later and check /readyz.", limit).Because(err)
		late.RetryAfter = retryLate
		return late
	}
}

// WithoutDeadline removes the limit of an earlier Deadline. It is for handlers
// with other time limits, and for responses that continue after the handler has
// returned.
func WithoutDeadline(c *fiber.Ctx) error {
	c.SetUserContext(context.WithoutCancel(c.UserContext()))
	return c.Next()
}
