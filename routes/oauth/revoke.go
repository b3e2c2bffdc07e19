package oauth

import "github.com/gofiber/fiber/v2"

// Revoke serves POST /oauth/revoke (RFC 7009): 200 without a body, whether
// there was anything to revoke or not.
func (t *Token) Revoke(c *fiber.Ctx) error {
	if done, err := shared(c, fiber.MethodPost); done {
		return err
	}
	form, err := clientForm(c)
	if err != nil {
		return answerError(c, err)
	}
	if err := t.failures.Check(c); err != nil {
		return err
	}
	if err := t.server.Revoke(c.UserContext(), form, c.Get(fiber.HeaderAuthorization)); err != nil {
		return t.refuse(c, err)
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Status(fiber.StatusOK)
	return nil
}
