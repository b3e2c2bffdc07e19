package web

import (
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
)

// secureHeaders sets the headers of every response. HSTS is set only for https.
func secureHeaders(https bool) fiber.Handler {
	return func(c *fiber.Ctx) error {
		setSecureHeaders(c, https)
		return c.Next()
	}
}

func setSecureHeaders(c *fiber.Ctx, https bool) {
	h := &c.Response().Header
	h.SetCanonical(headerContentTypeOptions, noSniff)
	h.SetCanonical(headerContentSecurityPolicy, contentSecurityPolicy)
	h.SetCanonical(headerReferrerPolicy, sameOrigin)
	if https {
		h.SetCanonical(headerStrictTransportSecurity, oneYear)
	}
}

// Headers of every response, in the form that the server stores and sends.
var (
	headerContentTypeOptions      = []byte(fiber.HeaderXContentTypeOptions)
	headerContentSecurityPolicy   = []byte(fiber.HeaderContentSecurityPolicy)
	headerReferrerPolicy          = []byte(fiber.HeaderReferrerPolicy)
	headerStrictTransportSecurity = []byte(fiber.HeaderStrictTransportSecurity)

	noSniff    = []byte("nosniff")
	sameOrigin = []byte("same-origin")
	oneYear    = []byte("max-age=31536000; includeSubDomains")
	// contentSecurityPolicy forbids external resources and inline code.
	contentSecurityPolicy = []byte("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
		"base-uri 'none'; object-src 'none'; frame-ancestors 'none'; form-action 'self'")
)

// malformedRequest adds the usual headers and log line to error responses for
// malformed requests. No middleware runs for those.
func malformedRequest(answer fiber.ErrorHandler, https bool, log requestLog) fiber.ErrorHandler {
	return func(c *fiber.Ctx, err error) error {
		if c.Locals(eventKey{}) != nil {
			return answer(c, err)
		}
		event := EventOf(c)
		setSecureHeaders(c, https)
		c.Set(HeaderRequestID, event.RequestID)
		err = answer(c, err)
		event.line = requestLine{ctx: c.UserContext(), method: c.Method(), path: c.Path(), ip: ClientIP(c), status: c.Response().StatusCode()}
		event.end = time.Now()
		log.write(event)
		return err
	}
}

// closeWhenDraining closes connections after their next response while the process drains.
// Clients and load balancers with persistent connections then move to another
// replica before this one closes them, possibly with a request in flight.
func closeWhenDraining(draining func() bool) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if draining != nil && draining() {
			c.Context().SetConnectionClose()
		}
		return c.Next()
	}
}

// recoverPanics turns a panic into an error, so that it does not end the
// process.
func recoverPanics(c *fiber.Ctx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return c.Next()
}

// checkHosts rejects unknown Host headers. Exempt are the probes, which load
// balancers call by address, and MCP endpoints, which check the host after
// finding the project.
func checkHosts(names *HostPolicy) fiber.Handler {
	return func(c *fiber.Ctx) error {
		switch path := c.Path(); {
		case path == "/healthz", path == "/readyz", strings.HasPrefix(path, "/v1/mcp/"):
			return c.Next()
		}
		if err := names.CheckHost(c); err != nil {
			return err
		}
		return c.Next()
	}
}
