package signin

import (
	"mcpgateway/web/guard"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/access/factors"
	"mcpgateway/services/fault"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/compress"
)

// StepUp serves the page on which users confirm their identity.
type StepUp struct {
	pages   *frame.Pages
	people  *access.Users
	factors *factors.Store
	guards  *guard.Guards
	resume  *Resume
	sso     string
}

// NewStepUp returns the handlers. sso is the name of the identity provider, or ""
// without one.
func NewStepUp(pages *frame.Pages, people *access.Users, factors *factors.Store, guards *guard.Guards, resume *Resume, sso string) *StepUp {
	return &StepUp{pages: pages, people: people, factors: factors, guards: guards, resume: resume, sso: sso}
}

// Show serves GET /login/again.
func (s *StepUp) Show(c *fiber.Ctx) error {
	from := queriedOrigin(c)
	return s.render(c, from, ui.StepUpProps{Act: s.resume.act(c, from)})
}

// Dialog responds to a form that requires a confirmation with the dialog of
// the script. The script sends the form after that.
func (s *StepUp) Dialog(c *fiber.Ctx) error {
	return s.render(c, origin{next: paths.Home}, ui.StepUpProps{Act: postedAct(c), Dialog: true})
}

// Confirm serves POST /login/again. With dialog=1 it returns 204, and the script then
// submits the pending form.
func (s *StepUp) Confirm(c *fiber.Ctx) error {
	var code access.Proof
	if text := web.FormValue(c, "code"); text != "" {
		code = s.factors.Code(text)
	}
	in, err := s.people.StepUpWith(c.UserContext(), frame.FormSecret(c, "password"), code, browserOf(c, s.guards))
	return s.done(c, in, err)
}

// Passkey serves POST /login/again/passkey, with the same responses as Confirm.
func (s *StepUp) Passkey(c *fiber.Ctx) error {
	proof := s.factors.StepUpPasskey(web.FormValue(c, "state"), web.FormValue(c, "credential"))
	in, err := s.people.StepUpAlone(c.UserContext(), proof, browserOf(c, s.guards))
	return s.done(c, in, err)
}

// done responds to a confirmation.
func (s *StepUp) done(c *fiber.Ctx, in access.SignedIn, err error) error {
	from, dialog := postedOrigin(c), web.FormValue(c, "dialog") != ""
	if err != nil {
		errors := refused(c, err)
		if errors == nil {
			return err
		}
		p := ui.StepUpProps{Errors: errors, Dialog: dialog, Act: s.resume.act(c, from)}
		if dialog {
			p.Act = ui.Act{Verb: web.FormValue(c, "verb"), Name: web.FormValue(c, "name"), Generic: web.FormValue(c, "generic"), Button: web.FormValue(c, "button")}
		}
		return s.render(c, from, p)
	}
	if dialog {
		s.guards.SetSession(c, in.Cookie.Reveal())
		return c.SendStatus(fiber.StatusNoContent)
	}
	return s.resume.Continue(c, in, from)
}

// render renders the page or the dialog.
func (s *StepUp) render(c *fiber.Ctx, from origin, p ui.StepUpProps) error {
	signedIn := guard.UserOf(c)
	if signedIn == nil {
		return fault.Unauthorized()
	}
	person, err := s.people.Get(c.UserContext(), signedIn.ID)
	if err != nil {
		return err
	}
	if err := s.offer(c, person.ID, &p); err != nil {
		return err
	}
	f := s.pages.Frame(c, "Confirm it's you", layout.SectionNone)
	compress.Never(c) // the page contains a token
	p.CSRF, p.Email, p.Password = f.CSRF(), person.Email, person.HasPassword
	p.Next, p.Form, p.Large = from.next, from.form, from.large
	if s.sso != "" && person.HasIdentity {
		p.Provider, p.ProviderURL = s.sso, from.at(paths.SingleSignOn)+"&fresh=1"
	}
	c.SetUserContext(layout.WithAssets(c.UserContext(), f.Assets)) // for the dialog, which has no frame
	return web.Render(c, admin.StepUp(f, p))
}

// offer adds the user's second factors to the form.
func (s *StepUp) offer(c *fiber.Ctx, userID string, p *ui.StepUpProps) error {
	set, err := s.factors.Of(c.UserContext(), userID)
	if err != nil {
		return err
	}
	challenge, err := s.factors.StepUpChallenge(c.UserContext(), userID)
	if err != nil {
		return err
	}
	p.Code, p.Passkey = len(set.Factors) > 0, passkeyOf(challenge)
	return nil
}
