package web

import (
	"time"

	"github.com/gofiber/fiber/v2"
)

// RequestCounter counts requests that were answered. route is the pattern of
// their URL, or empty when there is none; took is the time until the answer
// began. It is asked on the way of every request, from many goroutines.
type RequestCounter interface {
	Request(method, route string, status int, took time.Duration)
}

// Route returns a handler that says which route answers a request, by the
// pattern of its URL. It stands before all other handlers of the route.
func Route(pattern string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		EventOf(c).Route = pattern
		return c.Next()
	}
}
