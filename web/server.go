// Package web is how the product speaks HTTP: the server's shell and the
// toolbox of its handlers. It knows no URL of the product.
package web

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/background"
)

// Time-outs of client connections. Those of writing are set by the connections
// themselves and by streams.
const (
	readTimeout = 30 * time.Second
	idleTimeout = 120 * time.Second
)

// maxHeaders is how long the headers of a request may be, in bytes.
const maxHeaders = 16 << 10

// Options say how the server meets its clients.
type Options struct {
	Names          *Names
	HTTPS          bool           // the public URL is https
	TrustedProxies []netip.Prefix // whose X-Forwarded-* and Forwarded headers are read
	Log            *slog.Logger
	Background     *background.Tasks // nil logs panics to the default logger
	ErrorPage      ErrorPage
	Help           Help           // nil leaves help out of errors
	Requests       RequestCounter // nil counts nothing
	Draining       func() bool    // whether the process is about to end; nil is never
	Spans          Spans          // nil records nothing
	BodyLimit      BodyLimit      // nil is MaxBody for every request
	BodyMemory     int64          // of all request bodies in flight, in bytes; 0 is no limit
}

// New returns a server without routes: it limits, logs, recovers, sets
// security headers and answers every returned error.
func New(o Options) *fiber.App {
	schemeProxies := make([]string, len(o.TrustedProxies))
	for i, p := range o.TrustedProxies {
		schemeProxies[i] = p.String()
	}
	log := requestLog{o.Log}
	config := fiber.Config{
		AppName:   "gateway",
		BodyLimit: MaxBody,
		// Bodies are read by readBody.
		StreamRequestBody:     true,
		Immutable:             true,
		DisableStartupMessage: true,
		ReadTimeout:           readTimeout,
		IdleTimeout:           idleTimeout,
		ReadBufferSize:        maxHeaders,
		// Also sends every answer before the next request is read, so that an
		// answer ahead never overtakes one of a request that came in one go with it.
		ReduceMemoryUsage: true,
		CaseSensitive:     true,
		// Bodies are JSON; nothing else is parsed before it is refused.
		DisablePreParseMultipartForm: true,
		ErrorHandler:                 unreadable(errorHandler(o.ErrorPage, o.Help), o.HTTPS, log),
		// For the scheme of a request only; ClientIP finds its address.
		EnableTrustedProxyCheck: true,
		TrustedProxies:          schemeProxies,
	}
	app := fiber.New(config)
	app.Use(logRequests(log, o.TrustedProxies, o.Requests, o.Spans, o.Background, o.Help), letGo(o.Draining), recoverPanics, secureHeaders(o.HTTPS), refuseTwoLengths, checkHosts(o.Names))
	app.Use(readBody(o.BodyLimit, &bodyBudget{max: o.BodyMemory}))
	server := app.Server()
	server.Handler = closeUnread(refuseUnknownMethods(app, server.Handler))
	refuseLongBodies(app, o.BodyLimit)
	return app
}
