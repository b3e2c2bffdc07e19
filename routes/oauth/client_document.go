package oauth

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
)

// ClientDocument serves /oauth/client-metadata.json, by which authorization
// servers of upstreams know the gateway (OAuth Client ID Metadata Document).
type ClientDocument struct{ document *oauthclient.ClientDocument }

// NewClientDocument returns the handler.
func NewClientDocument(document *oauthclient.ClientDocument) *ClientDocument {
	return &ClientDocument{document: document}
}

// Serve answers with the document, and 404 under an address where nobody could
// use it. It is the same for everybody.
func (d *ClientDocument) Serve(c *fiber.Ctx) error {
	if done, err := shared(c, fiber.MethodGet); done {
		return err
	}
	if !d.document.Served() {
		return fault.NotFound("client metadata document", d.document.URL())
	}
	c.Set(fiber.HeaderCacheControl, "public, max-age=3600")
	return c.JSON(d.document.Metadata())
}
