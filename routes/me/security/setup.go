package security

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/access/factors"
	"mcpgateway/services/fault"
	"mcpgateway/views/layout"
	views "mcpgateway/views/me"
	"mcpgateway/views/paths"
	"mcpgateway/web"
	"mcpgateway/web/compress"
	"mcpgateway/web/guard"
)

// NewApp serves GET /me/security/app.
func (s *Security) NewApp(c *fiber.Ctx) error {
	user, err := s.user(c)
	if err != nil {
		return err
	}
	if !user.HasPassword {
		return frame.Failed(c, paths.Security, fault.Conflict("An authenticator app needs a password. You sign in with single sign-on."))
	}
	who, session, err := owner(c)
	if err != nil {
		return err
	}
	setup, err := s.factors.NewApp(who, session)
	if err != nil {
		return err
	}
	return s.appPage(c, setup, views.AppSetupProps{Name: "Phone", Next: queriedNext(c)})
}

// AddApp serves POST /me/security/apps. After a wrong code the page shows the same
// QR code again.
func (s *Security) AddApp(c *fiber.Ctx) error {
	who, session, err := owner(c)
	if err != nil {
		return err
	}
	state, name := web.FormValue(c, "state"), web.FormValue(c, "name")
	codes, err := s.factors.AddApp(c.UserContext(), who, session, state, name, web.FormValue(c, "code"))
	if err == nil {
		return s.added(c, codes, "Authenticator app added.")
	}
	if fault.Is(err, fault.CodeUnauthorized) {
		return s.again(c, paths.NewApp, err)
	}
	p := views.AppSetupProps{Name: name, Next: postedNext(c)}
	if p.Errors, err = frame.Fields(c, err); err != nil {
		return err
	}
	setup, err := s.factors.ResumeApp(who, session, state)
	if err != nil {
		return s.again(c, paths.NewApp, err)
	}
	return s.appPage(c, setup, p)
}

// again redirects to a page that starts a setup again, with the reason.
func (s *Security) again(c *fiber.Ctx, to string, err error) error {
	frame.PutFlash(c, layout.Flash{Tone: "warn", Text: fault.From(err).Message})
	return c.Redirect(paths.WithNext(to, postedNext(c)), fiber.StatusSeeOther)
}

func (s *Security) appPage(c *fiber.Ctx, setup factors.AppSetup, p views.AppSetupProps) error {
	compress.Never(c) // the page contains a secret
	p.Secret, p.State, p.Code, p.MustSetUp = setup.Secret.Reveal(), setup.State, setup.Code, guard.UserOf(c).MustSetUp
	p.Frame = s.frame(c, "Add an authenticator app")
	return web.Render(c, views.AppSetup(p))
}

// NewPasskey serves GET /me/security/passkey.
func (s *Security) NewPasskey(c *fiber.Ctx) error {
	return s.passkeyPage(c, views.PasskeySetupProps{Name: "Passkey", Next: queriedNext(c)})
}

// AddPasskey serves POST /me/security/passkeys.
func (s *Security) AddPasskey(c *fiber.Ctx) error {
	who, session, err := owner(c)
	if err != nil {
		return err
	}
	name := web.FormValue(c, "name")
	codes, err := s.factors.AddPasskey(c.UserContext(), who, session, web.FormValue(c, "state"), name, web.FormValue(c, "credential"))
	if err == nil {
		return s.added(c, codes, "Passkey added.")
	}
	if fault.Is(err, fault.CodeUnauthorized) {
		return s.again(c, paths.NewPasskey, err)
	}
	p := views.PasskeySetupProps{Name: name, Next: postedNext(c)}
	if p.Errors, err = frame.Fields(c, err); err != nil {
		return err
	}
	return s.passkeyPage(c, p)
}

func (s *Security) passkeyPage(c *fiber.Ctx, p views.PasskeySetupProps) error {
	who, session, err := owner(c)
	if err != nil {
		return err
	}
	challenge, err := s.factors.NewPasskey(c.UserContext(), who, session)
	if err != nil {
		return frame.Failed(c, paths.Security, err)
	}
	p.Options, p.State, p.MustSetUp = challenge.Options, challenge.State, guard.UserOf(c).MustSetUp
	p.Frame = s.frame(c, "Add a passkey")
	return web.Render(c, views.PasskeySetup(p))
}
