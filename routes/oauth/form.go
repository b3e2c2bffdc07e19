package oauth

import (
	"errors"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthserver"
	"mcpgateway/web"
)

// refusalBody is how OAuth tells a client what is wrong (RFC 6749, section 5.2).
type refusalBody struct {
	Error       oauthserver.RefusalCode `json:"error"`
	Description string                  `json:"error_description,omitempty"`
}

// answerError answers a client with what is wrong. Faults are answered as
// everywhere.
func answerError(c *fiber.Ctx, err error) error {
	var refusal *oauthserver.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	web.EventOf(c).Refused(fault.Code(refusal.Code))
	c.Status(fiber.StatusBadRequest)
	if refusal.Code == oauthserver.InvalidClient {
		c.Status(fiber.StatusUnauthorized)
		if c.Get(fiber.HeaderAuthorization) != "" {
			c.Set(fiber.HeaderWWWAuthenticate, `Basic realm="gateway", charset="UTF-8"`)
		}
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.JSON(refusalBody{Error: refusal.Code, Description: refusal.Description})
}

// clientForm returns the form that a client posts, and makes what follows be
// recorded as the client's doing. It returns invalid_request for a body that
// is no form or too large.
func clientForm(c *fiber.Ctx) (url.Values, error) {
	bad := func(why string) error {
		return &oauthserver.Refusal{Code: oauthserver.InvalidRequest, Description: why}
	}
	mime, _, _ := strings.Cut(c.Get(fiber.HeaderContentType), ";")
	switch {
	case !strings.EqualFold(strings.TrimSpace(mime), fiber.MIMEApplicationForm):
		return nil, bad("send the parameters as application/x-www-form-urlencoded")
	case c.Get(fiber.HeaderContentEncoding) != "":
		return nil, bad("send the body without Content-Encoding")
	case len(c.BodyRaw()) > oauthserver.MaxTokenRequest:
		return nil, bad("the body is larger than 8 KiB")
	}
	form, err := url.ParseQuery(string(c.BodyRaw()))
	if err != nil {
		return nil, bad("the form cannot be read")
	}
	actAsClient(c, form.Get("client_id"))
	return form, nil
}

// actAsClient makes what follows be recorded as the doing of an MCP client.
func actAsClient(c *fiber.Ctx, id string) {
	c.SetUserContext(activity.WithActor(c.UserContext(), activity.Actor{
		Kind: activity.ActorClient, ID: id, IP: web.ClientIP(c), RequestID: web.EventOf(c).RequestID,
	}))
}
