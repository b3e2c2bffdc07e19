package web

import (
	"time"

	"github.com/gofiber/fiber/v2"
)

// RequestCounter counts responses. route is the pattern of the URL, or empty
// without a matching route. took is the time until the response started.
// Request is called for every request before its response is sent, from many
// goroutines.
type RequestCounter interface {
	Request(method, route string, status int, took time.Duration)
}

// Route returns a handler that records the pattern of the matched route. It
// must be the first handler of the route.
func Route(pattern string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		EventOf(c).Route = pattern
		return c.Next()
	}
}
