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

// refusalBody is OAuth's error response (RFC 6749, section 5.2).
type refusalBody struct {
	Error       oauthserver.ErrorCode `json:"error"`
	Description string                `json:"error_description,omitempty"`
}

// answerError responds with an error. Faults have the common format.
func answerError(c *fiber.Ctx, err error) error {
	var refusal *oauthserver.ProtocolError
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

// clientForm returns the form that a client sent and sets the client as the
// actor of later changes. It returns invalid_request for a body that is not a
// form or too large.
func clientForm(c *fiber.Ctx) (url.Values, error) {
	bad := func(why string) error {
		return &oauthserver.ProtocolError{Code: oauthserver.InvalidRequest, Description: why}
	}
	mime, _, _ := strings.Cut(c.Get(fiber.HeaderContentType), ";")
	switch {
	case !strings.EqualFold(strings.TrimSpace(mime), fiber.MIMEApplicationForm):
		return nil, bad("send the parameters as application/x-www-form-urlencoded")
	case c.Get(fiber.HeaderContentEncoding) != "":
		return nil, bad("send the body without Content-Encoding")
	case len(c.BodyRaw()) > oauthserver.MaxTokenRequest:
		return nil, bad("body larger than 8 KiB")
	}
	form, err := url.ParseQuery(string(c.BodyRaw()))
	if err != nil {
		return nil, bad("invalid form")
	}
	actAsClient(c, form.Get("client_id"))
	return form, nil
}

// actAsClient sets an MCP client as the actor of later changes.
func actAsClient(c *fiber.Ctx, id string) {
	c.SetUserContext(activity.WithActor(c.UserContext(), activity.Actor{
		Kind: activity.ActorClient, ID: id, IP: web.ClientIP(c), RequestID: web.EventOf(c).RequestID,
	}))
}
