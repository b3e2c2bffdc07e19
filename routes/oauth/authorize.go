package oauth

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/services/oauthserver"
	"mcpgateway/views/layout"
	views "mcpgateway/views/oauth"
	"mcpgateway/views/paths"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// authorizePath is the authorization endpoint.
const authorizePath = "/oauth/authorize"

// AuthorizationServer handles authorization requests. Implemented by
// oauthserver.Server.
type AuthorizationServer interface {
	Authorize(ctx context.Context, query url.Values, person *oauthserver.User) (*oauthserver.Authorization, error)
	Decide(ctx context.Context, person oauthserver.User, sealed, projectID string, allow bool) (string, error)
}

// Counter counts the tools that a user would get. Implemented by views.Views.
type Counter interface {
	// Tools returns the number of visible tools of a project, or of its toolset,
	// that the user may use.
	Tools(projectID, toolsetID, userID string) int
}

// Authorize serves the authorization endpoint: the consent page and its form.
type Authorize struct {
	server    AuthorizationServer
	tools     Counter
	assets    layout.Assets
	loginPath string
}

// NewAuthorize returns the handlers. Users sign in at loginPath, which accepts
// the return path as ?next=.
func NewAuthorize(server AuthorizationServer, tools Counter, assets layout.Assets, loginPath string) *Authorize {
	return &Authorize{server: server, tools: tools, assets: assets, loginPath: loginPath}
}

// Show serves GET /oauth/authorize. It always shows the consent page, because
// registered clients and clients with a document are unverified. Mount it
// behind a guard that identifies the user and allows every request.
func (a *Authorize) Show(c *fiber.Ctx) error {
	if p := guard.UserOf(c); p != nil && p.MustSetUp {
		c.Set(fiber.HeaderCacheControl, "no-store")
		return c.Redirect(paths.WithNext(paths.Security, c.OriginalURL()), fiber.StatusSeeOther)
	}
	raw := string(c.Request().URI().QueryString())
	query, err := url.ParseQuery(raw)
	if err != nil || len(raw) > oauthserver.MaxAuthorizeQuery {
		return a.problem(c, fault.Invalid("The client's request is invalid or longer than %d bytes.", oauthserver.MaxAuthorizeQuery))
	}
	asked, err := a.server.Authorize(c.UserContext(), query, personOf(c))
	if fault.Is(err, fault.CodeUnauthorized) {
		c.Set(fiber.HeaderCacheControl, "no-store")
		return c.Redirect(a.loginPath+"?next="+url.QueryEscape(authorizePath+"?"+query.Encode()), fiber.StatusSeeOther)
	}
	if err != nil {
		return a.refused(c, err)
	}
	// Browsers also apply form-action to redirects after a form.
	policy := strings.Replace(c.GetRespHeader(fiber.HeaderContentSecurityPolicy), "form-action 'self'", "form-action 'self' "+asked.FormSource, 1)
	c.Set(fiber.HeaderContentSecurityPolicy, policy)
	c.Set(fiber.HeaderCacheControl, "no-store")
	return web.Render(c, views.Consent(a.consent(c, asked)))
}

// Decide serves POST /oauth/authorize, the user's decision. Mount it behind a
// guard that checks the session and its CSRF token.
func (a *Authorize) Decide(c *fiber.Ctx) error {
	person := personOf(c)
	if person == nil {
		return a.problem(c, fault.Forbidden("You are no longer signed in. Start again in the client."))
	}
	form := c.Request().PostArgs()
	to, err := a.server.Decide(c.UserContext(), *person, string(form.Peek("request")), string(form.Peek("project")), string(form.Peek("decision")) == "allow")
	if err != nil {
		return a.refused(c, err)
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Redirect(to, fiber.StatusSeeOther)
}

// refused returns a Denial to the client, and shows other errors to the user.
func (a *Authorize) refused(c *fiber.Ctx, err error) error {
	var denial *oauthserver.AuthorizeError
	if !errors.As(err, &denial) {
		return a.problem(c, err)
	}
	web.EventOf(c).Refused(fault.Code(denial.Refusal.Code))
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Redirect(denial.URL, fiber.StatusSeeOther)
}

// problem responds with an error page without a redirect.
func (a *Authorize) problem(c *fiber.Ctx, err error) error {
	f := fault.From(err)
	if c.Accepts(fiber.MIMEApplicationJSON, fiber.MIMETextHTML) != fiber.MIMETextHTML || f.Kind == fault.KindInternal {
		return err
	}
	web.EventOf(c).Fault(f)
	c.Status(web.StatusOf(f))
	c.Set(fiber.HeaderCacheControl, "no-store")
	return web.Render(c, views.Problem(views.ProblemProps{
		Frame: frame(c, a.assets, "Couldn't sign this app in"), Message: f.Message, RequestID: web.EventOf(c).RequestID,
	}))
}

// consent returns the content of the consent page.
func (a *Authorize) consent(c *fiber.Ctx, asked *oauthserver.Authorization) views.ConsentProps {
	p := views.ConsentProps{
		Frame: frame(c, a.assets, "Let a client in"), ClientName: asked.ClientName, ClientID: asked.ClientID, ClientHost: asked.ClientHost,
		RedirectName: asked.RedirectName, Local: asked.Local, Named: asked.Named, View: asked.View, Scopes: asked.Scopes, Sealed: asked.Sealed, GrantsURL: paths.MyApps,
	}
	for _, project := range asked.Projects {
		p.Projects = append(p.Projects, views.ProjectChoice{
			ID: project.ID, Slug: project.Slug, Name: project.Name, Toolset: cmp.Or(project.Toolset.Name, project.Toolset.Slug),
			Tools: a.tools.Tools(project.ID, project.Toolset.ID, guard.UserOf(c).ID),
		})
	}
	return p
}

// personOf returns the signed-in user, or nil.
func personOf(c *fiber.Ctx) *oauthserver.User {
	p := guard.UserOf(c)
	if p == nil {
		return nil
	}
	return &oauthserver.User{ID: p.ID, SessionID: p.SessionID}
}

// frame returns the frame of a page for the current user.
func frame(c *fiber.Ctx, assets layout.Assets, title string) layout.Frame {
	f := layout.Frame{Assets: assets, Title: title, Section: layout.SectionAccount}
	if p := guard.UserOf(c); p != nil {
		f.Person = &layout.Person{Name: p.Name, Email: p.Email, Role: p.Role, CSRF: guard.MaskToken(p.CSRF)}
	}
	return f
}
