package oauth

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient/clientdocument"
)

// ClientDocument serves /oauth/client-metadata.json, the gateway's client id at
// upstreams' authorization servers (OAuth Client ID Metadata Document).
type ClientDocument struct{ document *clientdocument.Document }

// NewClientDocument returns the handler.
func NewClientDocument(document *clientdocument.Document) *ClientDocument {
	return &ClientDocument{document: document}
}

// Serve responds with the document, or 404 if the public URL can't be reached
// by authorization servers.
func (d *ClientDocument) Serve(c *fiber.Ctx) error {
	if done, err := publicCORS(c, fiber.MethodGet); done {
		return err
	}
	if !d.document.Served() {
		return fault.NotFound("client metadata document", d.document.URL())
	}
	c.Set(fiber.HeaderCacheControl, "public, max-age=3600")
	return c.JSON(d.document.Metadata())
}
