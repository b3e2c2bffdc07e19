package registry

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/registries"
	"mcpgateway/services/fault"
	"mcpgateway/web"
	"mcpgateway/web/ratelimit"
)

// Tokens authenticates the OAuth clients of people. Implemented by
// oauthserver.Server.
type Tokens interface {
	// AuthenticateView returns nil for an access token for the view, and otherwise
	// UNAUTHORIZED.
	AuthenticateView(ctx context.Context, viewID, token string) error
}

// ViewOptions are the dependencies of Views. All are required.
type ViewOptions struct {
	Catalog  *catalog.Catalog
	Store    *registries.Store
	Tokens   Tokens
	Failures *ratelimit.FailureLimit // counts wrong keys and tokens
	Public   *url.URL
}

// Views serves the views of the catalog in the format of the official registry
// API. Gated ones require a catalog key or an access token.
type Views struct {
	ViewOptions
	v01 *V01
}

// NewViews returns the handlers.
func NewViews(o ViewOptions) *Views { return &Views{o, NewV01(o.Catalog)} }

// List serves GET /views/:view/v0.1/servers.
func (v *Views) List(c *fiber.Ctx) error { return v.serve(c, v.v01.list) }

// Versions serves GET /views/:view/v0.1/servers/:name/versions.
func (v *Views) Versions(c *fiber.Ctx) error { return v.serve(c, v.v01.versions) }

// Version serves GET /views/:view/v0.1/servers/:name/versions/:version.
func (v *Views) Version(c *fiber.Ctx) error { return v.serve(c, v.v01.version) }

// Unknown serves GET of other paths below /views/:view/v0.1 with 404.
func (v *Views) Unknown(c *fiber.Ctx) error { return v.serve(c, v.v01.unknown) }

// serve admits the client and responds with the view in the path.
func (v *Views) serve(c *fiber.Ctx, respond func(*fiber.Ctx, served) error) error {
	web.ReadableWithKey(c)
	view, err := v.Store.View(c.UserContext(), c.Params("view"))
	if err != nil {
		return official(c, err)
	}
	if view.Gated {
		if err := v.admit(c, view); err != nil {
			return err
		}
	}
	selection, err := v.Store.Selection(c.UserContext(), view)
	if err != nil {
		return err
	}
	return official(c, respond(c, served{selection: selection, mark: view.ID + view.UpdatedAt.UTC().Format(time.RFC3339Nano), gated: view.Gated}))
}

// admit returns nil for a catalog key, and for a token for the view. Otherwise it
// returns UNAUTHORIZED with a challenge that leads to the authorization server
// (RFC 6750, section 3; RFC 9728, section 5.1). After too many wrong keys from
// an address it returns RATE_LIMITED for further ones; usable ones still work.
func (v *Views) admit(c *fiber.Ctx, view models.CatalogView) error {
	presented := c.Get(fiber.HeaderAuthorization)
	var err error = fault.Unauthorized()
	if scheme, token, ok := strings.Cut(presented, " "); ok && strings.EqualFold(scheme, "bearer") {
		token = strings.Clone(strings.TrimSpace(token))
		err = v.Store.Authenticate(c.UserContext(), token)
		if fault.Is(err, fault.CodeUnauthorized) {
			err = v.Tokens.AuthenticateView(c.UserContext(), view.ID, token)
		}
	}
	if !fault.Is(err, fault.CodeUnauthorized) {
		return err
	}
	challenge := `Bearer resource_metadata="` + v.Public.String() + `/.well-known/oauth-protected-resource/views/` + view.Name + `", scope="` + string(access.ScopeCatalog) + `"`
	if presented != "" {
		challenge += `, error="invalid_token"`
		if limited := v.Failures.Failed(c, ""); limited != nil {
			return limited
		}
	}
	c.Set(fiber.HeaderWWWAuthenticate, challenge)
	return err
}
