package oauth

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/oauthserver"
)

// Revoke serves POST /oauth/revoke (RFC 7009): 200 without a body, also if
// there was nothing to revoke.
func (t *Token) Revoke(c *fiber.Ctx) error {
	if done, err := publicCORS(c, fiber.MethodPost); done {
		return err
	}
	form, err := clientForm(c)
	if err != nil {
		return respondError(c, err)
	}
	authorization := c.Get(fiber.HeaderAuthorization)
	client := oauthserver.ClientID(form, authorization)
	if err := t.failures.Check(c, client); err != nil {
		return err
	}
	if err := t.server.Revoke(c.UserContext(), form, authorization); err != nil {
		return t.refuse(c, client, err)
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Status(fiber.StatusOK)
	return nil
}
