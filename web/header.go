package web

import (
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"
)

// HeaderName is the name of a header in the form in which the server keeps it,
// for Header.
type HeaderName []byte

// Header returns a header of the request, or "". Unlike Get of fiber it copies
// nothing: the text is good until the request is answered, and who keeps it
// clones it.
func Header(c *fiber.Ctx, name HeaderName) string {
	return utils.UnsafeString(c.Request().Header.PeekCanonical(name))
}
