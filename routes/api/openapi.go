package api

import (
	_ "embed" // the document

	"github.com/gofiber/fiber/v2"
)

// document is the OpenAPI 3.1 description of the administration API and the
// public catalog.
//
//go:embed openapi.json
var document []byte

// OpenAPI serves GET /api/openapi.json.
func OpenAPI(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	c.Set(fiber.HeaderCacheControl, "public, max-age=300")
	return c.Send(document)
}
