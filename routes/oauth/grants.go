package oauth

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/services/oauthserver"
	"mcpgateway/views/layout"
	views "mcpgateway/views/oauth"
	"mcpgateway/web"
)

// GrantServer manages a user's grants. Implemented by oauthserver.Server.
type GrantServer interface {
	Grants(ctx context.Context, userID string) ([]oauthserver.Grant, error)
	RevokeGrant(ctx context.Context, userID, grantID string) error
}

// Grants serves a user's list of clients with access.
type Grants struct {
	server GrantServer
	assets layout.Assets
	now    func() time.Time
}

// NewGrants returns the handlers. Mount them behind a guard that requires a
// signed-in user and checks the CSRF token.
func NewGrants(server GrantServer, assets layout.Assets, now func() time.Time) *Grants {
	return &Grants{server: server, assets: assets, now: now}
}

// withdrawn is the query after a revocation.
const withdrawn = "withdrawn"

// List serves GET /oauth/grants.
func (g *Grants) List(c *fiber.Ctx) error {
	person := personOf(c)
	if person == nil {
		return fault.Unauthorized()
	}
	grants, err := g.server.Grants(c.UserContext(), person.ID)
	if err != nil {
		return err
	}
	props := views.GrantsProps{Frame: frame(c, g.assets, "My apps"), Now: g.now()}
	if c.Context().QueryArgs().Has(withdrawn) {
		props.Flash = &layout.Flash{Tone: "ok", Text: "The client no longer has access."}
	}
	for _, grant := range grants {
		props.Grants = append(props.Grants, views.GrantRow{
			ID: grant.ID, ClientName: grant.ClientName, ClientHost: grant.ClientHost, RedirectName: grant.RedirectName, Project: grant.ProjectName,
			Scopes: grant.Scopes, CreatedAt: grant.CreatedAt, LastUsedAt: grant.LastUsedAt, ExpiresAt: grant.ExpiresAt,
		})
		if grant.ProjectName == "" {
			props.Grants[len(props.Grants)-1].Project = grant.ProjectSlug
		}
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	return web.Render(c, views.Grants(props))
}

// Withdraw serves POST /oauth/grants/:id/revoke and redirects to the list.
func (g *Grants) Withdraw(c *fiber.Ctx) error {
	person := personOf(c)
	if person == nil {
		return fault.Unauthorized()
	}
	if err := g.server.RevokeGrant(c.UserContext(), person.ID, c.Params("id")); err != nil {
		return err
	}
	return c.Redirect(grantsPath+"?"+withdrawn, fiber.StatusSeeOther)
}
