// Package web is how the product speaks HTTP: the server's shell and the
// toolbox of its handlers. It knows no URL of the product.
package web

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/gofiber/fiber/v2"
)

// Time-outs of client connections. There is none for writing: streams set
// their own deadline before each event.
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
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed
	Log            *slog.Logger
	ErrorPage      ErrorPage
	Requests       RequestCounter // nil counts nothing
	Draining       func() bool    // whether the process is about to end; nil is never
	Spans          Spans          // nil records nothing
}

// New returns a server without routes: it limits, logs, recovers, sets
// security headers and answers every returned error.
func New(o Options) *fiber.App {
	proxies := make([]string, len(o.TrustedProxies))
	for i, p := range o.TrustedProxies {
		proxies[i] = p.String()
	}
	log := requestLog{o.Log}
	config := fiber.Config{
		AppName:               "gateway",
		BodyLimit:             MaxBody,
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
		ErrorHandler:                 unreadable(errorHandler(o.ErrorPage), o.HTTPS, log),
		EnableTrustedProxyCheck:      true,
		TrustedProxies:               proxies,
	}
	address := peerIP
	if len(proxies) > 0 {
		address = (*fiber.Ctx).IP
		config.ProxyHeader = fiber.HeaderXForwardedFor
		config.EnableIPValidation = true
	}
	app := fiber.New(config)
	app.Use(logRequests(log, address, o.Requests, o.Spans), letGo(o.Draining), recoverPanics, secureHeaders(o.HTTPS), refuseTwoLengths, checkHosts(o.Names))
	server := app.Server()
	server.Handler = refuseUnknownMethods(app, server.Handler)
	return app
}
