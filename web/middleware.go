package web

import (
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
)

// secureHeaders sets what every answer carries; hsts only behind https.
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

// Headers that every answer carries, as the server keeps and sends them.
var (
	headerContentTypeOptions      = []byte(fiber.HeaderXContentTypeOptions)
	headerContentSecurityPolicy   = []byte(fiber.HeaderContentSecurityPolicy)
	headerReferrerPolicy          = []byte(fiber.HeaderReferrerPolicy)
	headerStrictTransportSecurity = []byte(fiber.HeaderStrictTransportSecurity)

	noSniff    = []byte("nosniff")
	sameOrigin = []byte("same-origin")
	oneYear    = []byte("max-age=31536000; includeSubDomains")
	// contentSecurityPolicy lets pages load nothing from elsewhere and run no
	// inline code.
	contentSecurityPolicy = []byte("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
		"base-uri 'none'; object-src 'none'; frame-ancestors 'none'; form-action 'self'")
)

// unreadable gives the answers to requests that could not be read at all, for
// which no middleware runs, the same headers and log line as all others.
func unreadable(answer fiber.ErrorHandler, https bool, log requestLog) fiber.ErrorHandler {
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

// letGo closes connections behind their next answer once the process drains, so
// that clients and balancers that keep connections open move to another replica
// before this one closes them, perhaps with a request on its way.
func letGo(draining func() bool) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if draining != nil && draining() {
			c.Context().SetConnectionClose()
		}
		return c.Next()
	}
}

// recoverPanics turns a panic into an error, so that one broken request never
// ends the process.
func recoverPanics(c *fiber.Ctx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return c.Next()
}

// checkHosts refuses foreign Host headers everywhere but on the probes, which
// balancers call by address, and on MCP endpoints, which check after they
// know the project.
func checkHosts(names *Names) fiber.Handler {
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
