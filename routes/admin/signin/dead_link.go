package signin

import (
	"errors"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/web"
)

// deadLink renders the page of a link that doesn't work, with 410 for one that did
// and 404 for others. It returns errors other than NOT_FOUND.
func deadLink(c *fiber.Ctx, pages *frame.Pages, err error) error {
	f := fault.From(err)
	if f.Code != fault.CodeNotFound {
		return err
	}
	web.EventOf(c).Fault(f.Because(nil)) // the cause isn't an error of the gateway
	c.Status(fiber.StatusNotFound)
	if errors.Is(err, access.ErrLinkUsed) || errors.Is(err, access.ErrLinkExpired) {
		c.Status(fiber.StatusGone)
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer") // the URL contains the token
	title, text, _ := strings.Cut(f.Message, ". ")
	return web.Render(c, admin.DeadLink(admin.DeadLinkProps{Frame: pages.Frame(c, title, layout.SectionNone), Title: title, Text: text}))
}
