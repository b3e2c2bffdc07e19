package web

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/web/forwarded"
)

// ClientIP returns the address of the client that made a request. Rate limits,
// the audit log, sessions and the request log use it. Without trusted proxies
// it is the address of the peer; otherwise see forwarded.Proxies.Client.
func ClientIP(c *fiber.Ctx) string {
	e := EventOf(c)
	if e.clientIP == "" {
		e.clientIP = clientIP(c, e.proxies)
	}
	return e.clientIP
}

func clientIP(c *fiber.Ctx, trusted forwarded.Proxies) string {
	text := peerIP(c)
	peer := forwarded.ParseAddress(text)
	if !trusted.Trust(peer) {
		return text
	}
	return trusted.Client(peer, &c.Request().Header).String()
}

// IsLocal reports whether a program on this machine made the request without a
// proxy.
func IsLocal(c *fiber.Ctx) bool {
	return forwarded.ParseAddress(peerIP(c)).IsLoopback() && !ThroughProxy(c)
}

// ThroughProxy reports whether a request came through a detectable proxy: its
// peer is a trusted proxy, or it has a header that proxies add.
func ThroughProxy(c *fiber.Ctx) bool {
	if FromTrustedProxy(c) {
		return true
	}
	for _, name := range []string{fiber.HeaderXForwardedFor, fiber.HeaderForwarded, fiber.HeaderXForwardedHost, fiber.HeaderXForwardedProto, "X-Real-Ip", fiber.HeaderVia} {
		if len(c.Request().Header.PeekAll(name)) > 0 {
			return true
		}
	}
	return false
}

// PeerIP returns the address of the peer of a request, which can be a proxy.
func PeerIP(c *fiber.Ctx) string { return peerIP(c) }

// FromTrustedProxy reports whether the peer of a request is a trusted proxy.
func FromTrustedProxy(c *fiber.Ctx) bool {
	return EventOf(c).proxies.Trust(forwarded.ParseAddress(peerIP(c)))
}

// peerIP returns the address of the request's peer. Connections of package conn
// cache it.
func peerIP(c *fiber.Ctx) string {
	if own, ok := c.Context().Conn().(interface{ PeerIP() string }); ok {
		return own.PeerIP()
	}
	return c.Context().RemoteIP().String()
}
