package oauth

import (
	"context"
	"errors"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/oauthserver"
	"mcpgateway/web/ratelimit"
)

// TokenServer issues and revokes tokens. Implemented by oauthserver.Server.
type TokenServer interface {
	Token(ctx context.Context, form url.Values, authorization string) (oauthserver.Tokens, error)
	Revoke(ctx context.Context, form url.Values, authorization string) error
}

// Token serves the token and revocation endpoints.
type Token struct {
	server   TokenServer
	failures *ratelimit.FailureLimit
}

// NewToken returns the handlers. failures counts wrong secrets, codes and
// refresh tokens per client.
func NewToken(server TokenServer, failures *ratelimit.FailureLimit) *Token {
	return &Token{server: server, failures: failures}
}

// tokenBody is the response of RFC 6749, section 5.1.
type tokenBody struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"`              // seconds
	RefreshToken string `json:"refresh_token,omitempty"` // not for views
	Scope        string `json:"scope"`
}

// Issue serves POST /oauth/token (OAuth 2.1, section 3.2).
func (t *Token) Issue(c *fiber.Ctx) error {
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
	tokens, err := t.server.Token(c.UserContext(), form, authorization)
	if err != nil {
		return t.refuse(c, client, err)
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(fiber.HeaderPragma, "no-cache")
	return c.JSON(newTokenBody(tokens))
}

func newTokenBody(tokens oauthserver.Tokens) tokenBody {
	return tokenBody{
		AccessToken: tokens.Access.Reveal(), TokenType: "Bearer", ExpiresIn: int64(tokens.Expires.Seconds()),
		RefreshToken: tokens.Refresh.Reveal(), Scope: tokens.Scopes,
	}
}

// refuse responds to a rejected request and counts wrong credentials.
func (t *Token) refuse(c *fiber.Ctx, client string, err error) error {
	var refusal *oauthserver.ProtocolError
	if errors.As(err, &refusal) && (refusal.Code == oauthserver.InvalidClient || refusal.Code == oauthserver.InvalidGrant) {
		if limited := t.failures.Failed(c, client); limited != nil {
			return limited
		}
	}
	return respondError(c, err)
}
