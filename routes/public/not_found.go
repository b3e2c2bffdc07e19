package public

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/views/layout"
	"mcpgateway/views/public"
	"mcpgateway/web"
)

// notFound responds with the page for an entry that doesn't exist, and records
// the fault for the log line of the request.
func (p *Pages) notFound(c *fiber.Ctx, err error, props public.MissingProps, section layout.Section) error {
	event := web.EventOf(c)
	event.Fault(fault.From(err))
	c.Status(web.StatusOf(err))
	props.Frame = p.frames.Frame(c, "Not found", section)
	props.RequestID = event.RequestID
	return render(c, props.Frame, public.Missing(props))
}
