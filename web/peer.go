package web

import "github.com/gofiber/fiber/v2"

// peerIP returns the address of the other end of the connection of a request.
func peerIP(c *fiber.Ctx) string {
	own, ok := c.Context().Conn().(*conn)
	if !ok {
		return c.Context().RemoteIP().String()
	}
	if own.ip == "" {
		own.ip = c.Context().RemoteIP().String()
	}
	return own.ip
}
