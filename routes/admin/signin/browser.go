package signin

import (
	"strings"

	"mcpgateway/web/guard"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/access"
	"mcpgateway/web"
)

// browserName returns the common name of the browser with a User-Agent header, such
// as "Firefox on Linux". Browsers include each other's names in the header, so the
// most specific name is checked first.
func browserName(agent string) string {
	name := firstNamed(agent, [][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"}})
	system := firstNamed(agent, [][2]string{{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"}})
	switch {
	case name != "" && system != "":
		return name + " on " + system
	case name != "" || system != "":
		return name + system
	default:
		return "Unknown browser"
	}
}

func firstNamed(agent string, names [][2]string) string {
	for _, name := range names {
		if strings.Contains(agent, name[0]) {
			return name[1]
		}
	}
	return ""
}

// maxUserAgent is the maximum stored length of a User-Agent header, in bytes.
const maxUserAgent = 300

// browserOf returns the browser of a request, for the list of sessions and the rate
// limits.
func browserOf(c *fiber.Ctx, guards *guard.Guards) access.Browser {
	agent := c.Get(fiber.HeaderUserAgent)
	return access.Browser{IP: web.ClientIP(c), UserAgent: agent[:min(len(agent), maxUserAgent)], Cookie: guards.SessionCookie(c), Device: guards.DeviceCookie(c)}
}

// setSignedIn sets the cookies of a new session.
func setSignedIn(c *fiber.Ctx, guards *guard.Guards, in access.SignedIn) {
	guards.SetSession(c, in.Cookie.Reveal())
	guards.SetDevice(c, in.Device.Reveal())
}
