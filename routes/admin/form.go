package admin

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/access"
	"mcpgateway/services/secrets"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// posted returns a field of the form that was posted. What stands in the
// address is not looked at: a link must not fill in a form.
func posted(c *fiber.Ctx, name string) string { return web.Posted(c, name) }

// postedSecret returns a field of the form that nobody else may read.
func postedSecret(c *fiber.Ctx, name string) secrets.Value {
	return secrets.NewValue(posted(c, name))
}

// maxUserAgent is how much of what a browser calls itself is kept, in bytes.
const maxUserAgent = 300

// browserOf returns the browser of a request, for the list of sessions and the
// limits of attempts.
func browserOf(c *fiber.Ctx, guards *guard.Guards) access.Browser {
	agent := c.Get(fiber.HeaderUserAgent)
	return access.Browser{IP: web.ClientIP(c), UserAgent: agent[:min(len(agent), maxUserAgent)], Cookie: guards.SessionCookie(c), Device: guards.DeviceCookie(c)}
}

// setSignedIn sets the cookies of a session that has just begun.
func setSignedIn(c *fiber.Ctx, guards *guard.Guards, in access.SignedIn) {
	guards.SetSession(c, in.Cookie.Reveal())
	guards.SetDevice(c, in.Device.Reveal())
}
