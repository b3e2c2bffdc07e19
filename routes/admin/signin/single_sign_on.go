package signin

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/web/guard"

	"mcpgateway/routes/frame"
	"mcpgateway/services/access/oidc"
	"mcpgateway/services/fault"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// SingleSignOn serves sign-in with the identity provider.
type SingleSignOn struct {
	pages    *frame.Pages
	provider *oidc.SignOn
	guards   *guard.Guards
	resume   *Resume
	name     string
}

// NewSingleSignOn returns the handlers. provider is nil if single sign-on is not
// configured; name is its display name.
func NewSingleSignOn(pages *frame.Pages, provider *oidc.SignOn, guards *guard.Guards, resume *Resume, name string) *SingleSignOn {
	return &SingleSignOn{pages: pages, provider: provider, guards: guards, resume: resume, name: name}
}

// Start serves GET /login/sso. It redirects the browser to the identity provider.
func (s *SingleSignOn) Start(c *fiber.Ctx) error {
	if s.provider == nil {
		return noSingleSignOn()
	}
	from := queriedOrigin(c)
	to, cookie, err := s.provider.Start(c.UserContext(), from.path(), c.Query("fresh") == "1")
	if err != nil {
		return s.failed(c, from, err)
	}
	s.guards.SetFlow(c, cookie.Reveal())
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Redirect(to, fiber.StatusSeeOther)
}

// Finish serves GET /login/callback, the redirect URI of the identity provider.
func (s *SingleSignOn) Finish(c *fiber.Ctx) error {
	if s.provider == nil {
		return noSingleSignOn()
	}
	answer := oidc.Response{State: c.Query("state"), Code: c.Query("code"), Issuer: c.Query("iss"), Error: c.Query("error")}
	in, next, err := s.provider.Finish(c.UserContext(), s.guards.TakeFlow(c), answer, browserOf(c, s.guards))
	if err != nil {
		return s.failed(c, origin{next: paths.Home}, err)
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	return s.resume.Continue(c, in, originOf(next))
}

// failed renders the sign-in page with the error, so that the user can try again.
// The status is that of the fault.
func (s *SingleSignOn) failed(c *fiber.Ctx, from origin, err error) error {
	f := fault.From(err)
	if f.Kind == fault.KindInternal {
		return err
	}
	web.EventOf(c).Fault(f)
	c.Status(web.StatusOf(f))
	return web.Render(c, admin.Login(admin.LoginProps{
		Frame: s.pages.Frame(c, "Sign in", layout.SectionNone), Next: from.next, Form: from.form, Large: from.large, Errors: map[string]string{"": f.Message},
		Provider: s.name, ProviderURL: from.at(paths.SingleSignOn),
	}))
}

func noSingleSignOn() error {
	return fault.New(fault.KindNotFound, fault.CodeNotFound, "Single sign-on is not configured. Sign in with a password.")
}
