package oauth

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/oauthserver"
	"mcpgateway/web"
)

// Registrar registers clients; oauthserver.Server says how.
type Registrar interface {
	Register(ctx context.Context, body []byte, ip string) (oauthserver.Registration, error)
}

// Register serves the registration endpoint.
type Register struct{ server Registrar }

// NewRegister returns the handler.
func NewRegister(server Registrar) *Register { return &Register{server: server} }

// registrationBody is the answer of RFC 7591, section 3.2.1.
type registrationBody struct {
	ClientID      string   `json:"client_id"`
	IssuedAt      int64    `json:"client_id_issued_at"` // Unix seconds
	Secret        string   `json:"client_secret,omitempty"`
	SecretEnds    *int64   `json:"client_secret_expires_at,omitempty"` // 0 is never; present with a secret
	Name          string   `json:"client_name,omitempty"`
	RedirectURIs  []string `json:"redirect_uris"`
	AuthMethod    string   `json:"token_endpoint_auth_method"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
}

// Create serves POST /oauth/register (RFC 7591): 201 with the client as it is
// registered, 400 with what is wrong, 429 beyond 10 an hour of one address.
func (r *Register) Create(c *fiber.Ctx) error {
	if done, err := shared(c, fiber.MethodPost); done {
		return err
	}
	body, err := web.JSONBody(c)
	if err != nil {
		return err
	}
	actAsClient(c, "")
	made, err := r.server.Register(c.UserContext(), body, web.ClientIP(c))
	if err != nil {
		return answerError(c, err)
	}
	answer := registrationBody{
		ClientID: made.Client.ID, IssuedAt: made.Client.CreatedAt.Unix(), Secret: made.Secret.Reveal(), Name: made.Client.Name,
		RedirectURIs: made.Client.RedirectURIs, AuthMethod: string(made.Client.AuthMethod),
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}
	if !made.Secret.IsZero() {
		answer.SecretEnds = new(int64)
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Status(fiber.StatusCreated).JSON(answer)
}
