// Package signin serves setup, sign-in with a password or single sign-on, step-up
// confirmation, sign-out and the account page. Forms that were stored because they
// required a sign-in or confirmation are submitted afterwards.
package signin

import (
	"mcpgateway/web/compress"
	"mcpgateway/web/guard"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/access/factors"
	"mcpgateway/services/fault"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// Login serves sign-in with a password and sign-out.
type Login struct {
	pages   *frame.Pages
	people  *access.Users
	factors *factors.Store
	guards  *guard.Guards
	resume  *Resume
	sso     string // name of the identity provider; may be empty
}

// NewLogin returns the handlers. sso is the name of the identity provider, or ""
// without one.
func NewLogin(pages *frame.Pages, people *access.Users, factors *factors.Store, guards *guard.Guards, resume *Resume, sso string) *Login {
	return &Login{pages: pages, people: people, factors: factors, guards: guards, resume: resume, sso: sso}
}

// Show serves GET /login. A signed-in user is redirected to ?next=, or to the
// step-up page if a stored form is pending.
func (l *Login) Show(c *fiber.Ctx) error {
	from := queriedOrigin(c)
	switch signedIn := guard.UserOf(c) != nil; {
	case signedIn && from.form != "":
		return c.Redirect(from.at(paths.StepUp), fiber.StatusSeeOther)
	case signedIn:
		return c.Redirect(from.next, fiber.StatusSeeOther)
	}
	open, err := l.people.SetupOpen(c.UserContext())
	if err != nil {
		return err
	}
	if open {
		return c.Redirect(paths.Setup, fiber.StatusSeeOther)
	}
	return l.form(c, from, admin.LoginProps{})
}

// SignIn serves POST /login.
func (l *Login) SignIn(c *fiber.Ctx) error {
	from, email := postedOrigin(c), web.FormValue(c, "email")
	in, err := l.people.SignIn(c.UserContext(), email, frame.FormSecret(c, "password"), browserOf(c, l.guards))
	if err != nil {
		errors := refused(c, err)
		if errors == nil {
			return err
		}
		return l.form(c, from, admin.LoginProps{Email: email, Errors: errors})
	}
	if !in.SecondStep.IsZero() {
		l.guards.SetSecondStep(c, in.SecondStep.Reveal())
		return c.Redirect(from.at(paths.SecondStep), fiber.StatusSeeOther)
	}
	return l.resume.Continue(c, in, from)
}

// Passkey serves POST /login/passkey.
func (l *Login) Passkey(c *fiber.Ctx) error {
	from := postedOrigin(c)
	proof := l.factors.SignInPasskey(web.FormValue(c, "state"), web.FormValue(c, "credential"))
	in, err := l.people.SignInAlone(c.UserContext(), proof, browserOf(c, l.guards))
	if err != nil {
		errors := refused(c, err)
		if errors == nil {
			return err
		}
		return l.form(c, from, admin.LoginProps{Errors: errors})
	}
	return l.resume.Continue(c, in, from)
}

// SignOut serves POST /logout.
func (l *Login) SignOut(c *fiber.Ctx) error {
	if err := l.people.SignOut(c.UserContext(), l.guards.SessionCookie(c)); err != nil {
		return err
	}
	l.guards.ClearSession(c)
	return frame.Done(c, paths.Login, "You're signed out.")
}

func (l *Login) form(c *fiber.Ctx, from origin, p admin.LoginProps) error {
	p.Next, p.Form, p.Large = from.next, from.form, from.large
	if p.Form != "" {
		compress.Never(c) // the page contains a token
	}
	challenge, err := l.factors.SignInChallenge()
	if err != nil {
		return err
	}
	p.Passkey = passkeyOf(challenge)
	p.Frame = l.pages.Frame(c, "Sign in", layout.SectionNone)
	if l.sso != "" {
		p.Provider, p.ProviderURL = l.sso, from.at(paths.SingleSignOn)
	}
	return web.Render(c, admin.Login(p))
}

// refused returns the errors of a rejected sign-in or confirmation by field name,
// and sets the response status. The key "" holds a general error. It returns nil
// for errors with another cause.
func refused(c *fiber.Ctx, err error) map[string]string {
	switch f := fault.From(err); f.Kind {
	case fault.KindUnauthorized:
		c.Status(fiber.StatusUnprocessableEntity) // 401 requires a challenge, for which browsers show a dialog
		return map[string]string{"": f.Message}
	case fault.KindRateLimited, fault.KindUnavailable, fault.KindForbidden:
		c.Status(web.StatusOf(f))
		web.EventOf(c).Fault(f)
		return map[string]string{"": f.Message}
	}
	fields, _ := frame.Fields(c, err)
	return fields
}
