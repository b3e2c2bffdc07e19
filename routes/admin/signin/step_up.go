package signin

import (
	"time"

	"mcpgateway/web/guard"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// StepUp serves the page on which users confirm their identity.
type StepUp struct {
	pages  *frame.Pages
	people *access.Users
	guards *guard.Guards
	resume *Resume
	need   NeedStepUp
	sso    string
}

// NewStepUp returns the handlers. sso is the name of the identity provider, or ""
// without one.
func NewStepUp(pages *frame.Pages, people *access.Users, guards *guard.Guards, resume *Resume, need NeedStepUp, sso string) *StepUp {
	return &StepUp{pages: pages, people: people, guards: guards, resume: resume, need: need, sso: sso}
}

// Show serves GET /login/again. With ?dialog=1, used by the script that opens the
// page as a dialog, it returns 204 if no confirmation is required.
func (s *StepUp) Show(c *fiber.Ctx) error {
	p := guard.UserOf(c)
	if c.Query("dialog") != "" && p != nil && s.need(p.ConfirmedUntil) == nil {
		return c.SendStatus(fiber.StatusNoContent)
	}
	return s.form(c, queriedOrigin(c), nil)
}

// Confirm serves POST /login/again. With dialog=1 it returns 204, and the script then
// submits the pending form.
func (s *StepUp) Confirm(c *fiber.Ctx) error {
	from := postedOrigin(c)
	in, err := s.people.StepUp(c.UserContext(), frame.FormSecret(c, "password"), browserOf(c, s.guards))
	if err != nil {
		errors := refused(c, err)
		if errors == nil {
			return err
		}
		return s.form(c, from, errors)
	}
	if web.FormValue(c, "dialog") != "" {
		s.guards.SetSession(c, in.Cookie.Reveal())
		return c.SendStatus(fiber.StatusNoContent)
	}
	return s.resume.Continue(c, in, from)
}

func (s *StepUp) form(c *fiber.Ctx, from origin, errors map[string]string) error {
	signedIn := guard.UserOf(c)
	if signedIn == nil {
		return fault.Unauthorized()
	}
	person, err := s.people.Get(c.UserContext(), signedIn.ID)
	if err != nil {
		return err
	}
	p := admin.StepUpProps{Next: from.next, Form: from.form, Errors: errors, Act: s.resume.act(c, from)}
	if p.Act == "" {
		p.Act = actOf(c.Query("act"))
	}
	p.Frame = s.pages.Frame(c, "Confirm it's you", layout.SectionNone)
	p.Password = person.HasPassword
	if s.sso != "" && person.HasIdentity {
		p.Provider, p.ProviderURL = s.sso, from.at(paths.SingleSignOn)+"&fresh=1"
	}
	return web.Render(c, admin.StepUp(p))
}

// NeedStepUp returns an error if a confirmation that is valid until confirmedUntil
// no longer allows changing secrets.
type NeedStepUp func(confirmedUntil time.Time) error
