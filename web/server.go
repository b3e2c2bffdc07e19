// Package web is the HTTP layer: it creates the server and has the tools of its
// handlers. It is independent of the product's URLs.
package web

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/background"
)

// Timeouts of client connections. Write deadlines are set by connections and
// streams.
const (
	readTimeout = 30 * time.Second
	idleTimeout = 120 * time.Second
)

// maxHeaders is the maximum size of the headers of a request, in bytes.
const maxHeaders = 16 << 10

// Options configure a server.
type Options struct {
	Names          *HostPolicy
	HTTPS          bool           // the public URL is https
	TrustedProxies []netip.Prefix // proxies whose X-Forwarded-* and Forwarded headers are trusted
	Log            *slog.Logger
	Background     *background.Tasks // nil logs panics to the default logger
	ErrorPage      ErrorPage
	Help           Help           // nil leaves help out of errors
	Requests       RequestCounter // may be nil
	Draining       func() bool    // reports whether the process is shutting down; may be nil
	Spans          Spans          // may be nil
	BodyLimit      BodyLimit      // nil means MaxBody for every request
	BodyMemory     int64          // maximum for all request bodies in flight, in bytes; 0 means no limit
}

// New returns a server without routes. It limits and logs requests, recovers
// from panics, sets security headers and responds to returned errors.
func New(o Options) *fiber.App {
	schemeProxies := make([]string, len(o.TrustedProxies))
	for i, p := range o.TrustedProxies {
		schemeProxies[i] = p.String()
	}
	log := requestLog{o.Log}
	config := fiber.Config{
		AppName:   "gateway",
		BodyLimit: MaxBody,
		// readBody reads the bodies.
		StreamRequestBody:     true,
		Immutable:             true,
		DisableStartupMessage: true,
		ReadTimeout:           readTimeout,
		IdleTimeout:           idleTimeout,
		ReadBufferSize:        maxHeaders,
		// It also sends every response before the next request is read. An
		// early response therefore never overtakes that of an earlier pipelined
		// request.
		ReduceMemoryUsage: true,
		CaseSensitive:     true,
		// Bodies are JSON; other content must be rejected before it is parsed.
		DisablePreParseMultipartForm: true,
		ErrorHandler:                 malformedRequest(errorHandler(o.ErrorPage, o.Help), o.HTTPS, log),
		// Only for the scheme of a request; ClientIP determines the address.
		EnableTrustedProxyCheck: true,
		TrustedProxies:          schemeProxies,
	}
	app := fiber.New(config)
	app.Use(logRequests(log, o.TrustedProxies, o.Requests, o.Spans, o.Background, o.Help), closeWhenDraining(o.Draining), recoverPanics, secureHeaders(o.HTTPS), rejectAmbiguousLength, checkHosts(o.Names))
	app.Use(readBody(o.BodyLimit, &bodyBudget{max: o.BodyMemory}))
	server := app.Server()
	server.Handler = closeIfUnread(refuseUnknownMethods(app, server.Handler))
	rejectLongBodies(app, o.BodyLimit)
	return app
}
