package signin

import (
	"strconv"

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
	"mcpgateway/web/guard"
)

// SecondStep serves the page between the password and the session of users with
// a second factor.
type SecondStep struct {
	pages   *frame.Pages
	people  *access.Users
	factors *factors.Store
	guards  *guard.Guards
	resume  *Resume
}

// NewSecondStep returns the handlers.
func NewSecondStep(pages *frame.Pages, people *access.Users, factors *factors.Store, guards *guard.Guards, resume *Resume) *SecondStep {
	return &SecondStep{pages: pages, people: people, factors: factors, guards: guards, resume: resume}
}

// Show serves GET /login/second. Without a password before, it redirects to the
// sign-in page.
func (s *SecondStep) Show(c *fiber.Ctx) error { return s.form(c, queriedOrigin(c), nil) }

// Code serves POST /login/second.
func (s *SecondStep) Code(c *fiber.Ctx) error {
	return s.finish(c, s.factors.Code(web.FormValue(c, "code")))
}

// Passkey serves POST /login/second/passkey.
func (s *SecondStep) Passkey(c *fiber.Ctx) error {
	return s.finish(c, s.factors.SecondStepPasskey(web.FormValue(c, "state"), web.FormValue(c, "credential")))
}

func (s *SecondStep) finish(c *fiber.Ctx, proof access.Proof) error {
	from := postedOrigin(c)
	in, err := s.people.FinishSignIn(c.UserContext(), s.guards.SecondStepCookie(c), proof, browserOf(c, s.guards))
	if fault.Is(err, fault.CodeInvalidParameter) {
		return s.restart(c, from, err)
	}
	if err != nil {
		errors := refused(c, err)
		if errors == nil {
			return err
		}
		return s.form(c, from, errors)
	}
	s.guards.ClearSecondStep(c)
	if code, ok := proof.(factors.Code); ok && code.Recovery() {
		if err := s.warnCodes(c, in.Session.Person.ID); err != nil {
			return err
		}
	}
	return s.resume.Continue(c, in, from)
}

// warnCodes adds a message with the number of recovery codes left to the next
// page.
func (s *SecondStep) warnCodes(c *fiber.Ctx, userID string) error {
	set, err := s.factors.Of(c.UserContext(), userID)
	if err != nil {
		return err
	}
	frame.PutFlash(c, layout.Flash{
		Tone: "warn", Text: "You used a recovery code. " + strconv.Itoa(set.Codes) + " of " + strconv.Itoa(factors.RecoveryCodes) + " are left.",
		LinkLabel: "Second factor", LinkURL: paths.Security,
	})
	return nil
}

// restart redirects to the sign-in page, with the reason.
func (s *SecondStep) restart(c *fiber.Ctx, from origin, err error) error {
	if s.guards.SecondStepCookie(c) != "" {
		s.guards.ClearSecondStep(c)
		frame.PutFlash(c, layout.Flash{Tone: "warn", Text: fault.From(err).Message})
	}
	return c.Redirect(from.at(paths.Login), fiber.StatusSeeOther)
}

func (s *SecondStep) form(c *fiber.Ctx, from origin, errors map[string]string) error {
	user, err := s.people.SecondStep(c.UserContext(), s.guards.SecondStepCookie(c))
	if fault.Is(err, fault.CodeInvalidParameter) {
		return s.restart(c, from, err)
	}
	if err != nil {
		return err
	}
	set, err := s.factors.Of(c.UserContext(), user.ID)
	if err != nil {
		return err
	}
	challenge, err := s.factors.SecondStepChallenge(c.UserContext(), user.ID)
	if err != nil {
		return err
	}
	compress.Never(c) // the page contains tokens
	return web.Render(c, admin.SecondStep(admin.SecondStepProps{
		Frame: s.pages.Frame(c, "Confirm it's you", layout.SectionNone), Next: from.next, Form: from.form, Large: from.large,
		Email: user.Email, App: set.Has(factors.KindApp), Passkey: passkeyOf(challenge), Errors: errors,
	}))
}

// passkeyOf returns the form for a challenge.
func passkeyOf(challenge factors.Challenge) ui.PasskeyProps {
	return ui.PasskeyProps{Options: challenge.Options, State: challenge.State}
}
