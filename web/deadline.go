package web

import (
	"context"
	"errors"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
)

// retryLate is when a request that took too long may be tried again: a database
// that hangs seldom comes back at once.
const retryLate = 5 * time.Second

// Deadline ends the context of what stands behind it after limit, so that a
// database that hangs cannot hold a request, and the connections that it takes,
// for ever. A failure of ours after that is answered as UNAVAILABLE (503), with
// Retry-After; other faults stay what they are.
func Deadline(limit time.Duration) fiber.Handler {
	return func(c *fiber.Ctx) error {
		ctx, cancel := context.WithTimeout(c.UserContext(), limit)
		defer cancel()
		c.SetUserContext(ctx)
		err := c.Next()
		// The answer to a failure is still to be made.
		c.SetUserContext(context.WithoutCancel(c.UserContext()))
		if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) || fault.From(err).Kind != fault.KindInternal {
			return err
		}
		late := fault.New(fault.KindUnavailable, fault.CodeUnavailable,
			"this took longer than %v and was given up: the database may not be answering; try again, and ask /readyz", limit).Because(err)
		late.RetryAfter = retryLate
		return late
	}
}

// WithoutDeadline takes the limit of a Deadline before it away, for handlers
// whose time is bounded otherwise, and for answers that go on after the handler
// has returned.
func WithoutDeadline(c *fiber.Ctx) error {
	c.SetUserContext(context.WithoutCancel(c.UserContext()))
	return c.Next()
}
