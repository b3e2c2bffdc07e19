package admin

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/views/ui"
)

// clientCookie is the cookie with the client whose snippet the user chose last.
// The page's script sets it, see static/js/remember.js.
const clientCookie = "client"

// ChooseClient marks the snippet of the client that the user chose last.
func ChooseClient(c *fiber.Ctx, tabs []ui.SnippetTab) { ui.Choose(tabs, c.Cookies(clientCookie)) }
