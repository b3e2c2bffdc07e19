package oauth

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/oauthserver"
	"mcpgateway/web"
)

// Registrar registers clients. Implemented by oauthserver.Server.
type Registrar interface {
	Register(ctx context.Context, body []byte, ip string) (oauthserver.Registration, error)
}

// Register serves the registration endpoint.
type Register struct{ server Registrar }

// NewRegister returns the handler.
func NewRegister(server Registrar) *Register { return &Register{server: server} }

// registrationBody is the response of RFC 7591, section 3.2.1.
type registrationBody struct {
	ClientID      string   `json:"client_id"`
	IssuedAt      int64    `json:"client_id_issued_at"` // Unix seconds
	Secret        string   `json:"client_secret,omitempty"`
	SecretEnds    *int64   `json:"client_secret_expires_at,omitempty"` // 0 means never; present with a secret
	Name          string   `json:"client_name,omitempty"`
	RedirectURIs  []string `json:"redirect_uris"`
	AuthMethod    string   `json:"token_endpoint_auth_method"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
}

// Create serves POST /oauth/register (RFC 7591): 201 with the registered
// client, 400 for invalid metadata, 429 beyond 10 registrations per hour and
// address.
func (r *Register) Create(c *fiber.Ctx) error {
	if done, err := publicCORS(c, fiber.MethodPost); done {
		return err
	}
	body, err := web.JSONBody(c)
	if err != nil {
		return err
	}
	actAsClient(c, "")
	made, err := r.server.Register(c.UserContext(), body, web.ClientIP(c))
	if err != nil {
		return respondError(c, err)
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Status(fiber.StatusCreated).JSON(newRegistrationBody(made))
}

func newRegistrationBody(made oauthserver.Registration) registrationBody {
	body := registrationBody{
		ClientID: made.Client.ID, IssuedAt: made.Client.CreatedAt.Unix(), Secret: made.Secret.Reveal(), Name: made.Client.Name,
		RedirectURIs: made.Client.RedirectURIs, AuthMethod: string(made.Client.AuthMethod),
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}
	if !made.Secret.IsZero() {
		body.SecretEnds = new(int64)
	}
	return body
}
