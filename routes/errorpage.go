package routes

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// identifyLimit is the maximum time that an error page spends on identifying
// its user.
const identifyLimit = time.Second

// errorPage returns the pages of failed requests. Signed-in users keep the
// navigation, even if the request passed no guard.
func errorPage(frames *frame.Pages, guards *guard.Guards) web.ErrorPage {
	return func(c *fiber.Ctx, status int, message, requestID string) templ.Component {
		if web.EventOf(c).Route == "" && guards.SessionCookie(c) != "" {
			ctx, cancel := context.WithTimeout(c.UserContext(), identifyLimit)
			defer cancel()
			c.SetUserContext(ctx)
			_ = guards.Identify(c) // without the database the page is that of a visitor
			c.SetUserContext(context.WithoutCancel(c.UserContext()))
		}
		return ui.ErrorPage(frames.Frame(c, http.StatusText(status), layout.SectionNone), status, errorWords(c, status, message), requestID)
	}
}

// errorWords returns the message of the page of a failed request, which says what
// to do next where the message for programs doesn't.
func errorWords(c *fiber.Ctx, status int, message string) string {
	retry := c.GetRespHeader(fiber.HeaderRetryAfter)
	switch {
	case status == fiber.StatusNotFound && web.EventOf(c).Route == "" && guard.UserOf(c) != nil:
		return "Check the URL, or search with ⌘K."
	case status == fiber.StatusNotFound && web.EventOf(c).Route == "":
		return "Check the URL."
	case status == fiber.StatusTooManyRequests && retry != "":
		return "Try again in " + retry + " s."
	case status == fiber.StatusRequestEntityTooLarge && web.EventOf(c).Route == "":
		return "That's too large (limit " + strconv.Itoa(web.MaxBody>>20) + " MB)."
	}
	return message
}
