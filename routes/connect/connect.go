// Package connect accepts the connections of runners on other computers.
package connect

import (
	"strings"

	"github.com/fasthttp/websocket"
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mcpgateway/models"
	"mcpgateway/services/background"
	"mcpgateway/services/fault"
	"mcpgateway/services/runners/connectors"
	"mcpgateway/services/runners/socket"
	"mcpgateway/web"
	"mcpgateway/web/ratelimit"
)

// Options configure a Handler.
type Options struct {
	Store    *connectors.Store
	Hub      *connectors.Hub
	Names    *web.HostPolicy
	Failures *ratelimit.FailureLimit // counts wrong tokens
	Draining func() bool             // reports whether the process is shutting down
	// HTTPS refuses connections that a trusted proxy received without TLS.
	HTTPS bool
	Tasks *background.Tasks
}

// Handler accepts the connections of connectors.
type Handler struct {
	o        Options
	upgrader websocket.FastHTTPUpgrader
}

// New returns the handler.
func New(o Options) *Handler {
	return &Handler{o: o, upgrader: websocket.FastHTTPUpgrader{
		ReadBufferSize: socket.BufferSize, WriteBufferSize: socket.BufferSize, Subprotocols: []string{socket.Subprotocol},
		CheckOrigin: func(*fasthttp.RequestCtx) bool { return true }, // Serve checks it
	}}
}

// Serve serves GET /v1/connect (RFC 6455).
func (h *Handler) Serve(c *fiber.Ctx) error {
	if err := h.check(c); err != nil {
		return err
	}
	row, err := h.authenticate(c)
	if err != nil {
		return err
	}
	from := web.ClientIP(c)
	return h.upgrader.Upgrade(c.Context(), func(ws *websocket.Conn) {
		conn := socket.New(ws, socket.Options{Tasks: h.o.Tasks})
		_ = h.o.Tasks.Try("connector", func() error {
			h.o.Hub.Serve(row, from, conn)
			return nil
		})
		conn.Release()
	})
}

// check refuses requests without a WebSocket of a runner.
func (h *Handler) check(c *fiber.Ctx) error {
	if err := h.o.Names.CheckOrigin(c); err != nil {
		return err
	}
	if h.o.HTTPS && c.IsProxyTrusted() && strings.EqualFold(c.Get(fiber.HeaderXForwardedProto), "http") {
		return fault.Forbidden("Connect with https: http would send the token in clear text.")
	}
	if !websocket.FastHTTPIsWebSocketUpgrade(c.Context()) {
		return fault.Invalid("This address takes WebSocket connections of runners. If a runner sent this request, a proxy on the way does not pass WebSocket.")
	}
	for offered := range strings.SplitSeq(c.Get(fiber.HeaderSecWebSocketProtocol), ",") {
		if strings.TrimSpace(offered) == socket.Subprotocol {
			if h.o.Draining() {
				return fault.New(fault.KindUnavailable, fault.CodeUnavailable, "The gateway is shutting down. Retry later.")
			}
			return nil
		}
	}
	return fault.Invalid("Offer the WebSocket subprotocol %s.", socket.Subprotocol)
}

// authenticate returns the connector of the request's token. It counts wrong
// tokens, and returns RATE_LIMITED after too many.
func (h *Handler) authenticate(c *fiber.Ctx) (row models.Connector, err error) {
	if err := h.o.Failures.Check(c, ""); err != nil {
		return row, err
	}
	scheme, token, _ := strings.Cut(c.Get(fiber.HeaderAuthorization), " ")
	if strings.EqualFold(scheme, "bearer") {
		row, err = h.o.Store.Authenticate(c.UserContext(), strings.TrimSpace(token))
	} else {
		err = fault.Unauthorized()
	}
	if !fault.Is(err, fault.CodeUnauthorized) {
		return row, err
	}
	c.Set(fiber.HeaderWWWAuthenticate, `Bearer realm="gateway connectors"`)
	if limited := h.o.Failures.Failed(c, ""); limited != nil {
		return row, limited
	}
	return row, err
}
