package signin

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
	"mcpgateway/web/compress"
	"mcpgateway/web/guard"
)

// Reset serves the links that reset passwords.
type Reset struct {
	pages  *frame.Pages
	people *access.Users
	guards *guard.Guards
}

// NewReset returns the handlers.
func NewReset(pages *frame.Pages, people *access.Users, guards *guard.Guards) *Reset {
	return &Reset{pages: pages, people: people, guards: guards}
}

// Show serves GET /reset/:token. It responds with 410 if the link was used
// or has expired, and with 404 to an unknown one.
func (r *Reset) Show(c *fiber.Ctx) error { return r.form(c, nil) }

// Save serves POST /reset/:token. The user signs in with the new password
// afterwards, with their second factor if they have one.
func (r *Reset) Save(c *fiber.Ctx) error {
	if web.FormValue(c, "password") != web.FormValue(c, "again") {
		errors, _ := frame.Fields(c, fault.Validation(map[string]string{"again": "Passwords don't match."}))
		return r.form(c, errors)
	}
	err := r.people.ResetPassword(c.UserContext(), tokenOf(c), frame.FormSecret(c, "password"), browserOf(c, r.guards))
	if err != nil {
		errors := refused(c, err)
		if errors == nil {
			return deadLink(c, r.pages, err)
		}
		return r.form(c, errors)
	}
	return frame.Done(c, paths.Login, "Password changed. Sign in with it.")
}

func (r *Reset) form(c *fiber.Ctx, errors map[string]string) error {
	found, err := r.people.ResetOf(c.UserContext(), tokenOf(c))
	if err != nil {
		return deadLink(c, r.pages, err)
	}
	p := admin.ResetProps{Token: tokenOf(c).Reveal(), Email: found.User.Email, Called: found.User.Called(), Errors: errors}
	p.Frame = r.pages.Frame(c, "Reset password", layout.SectionNone)
	compress.Never(c)                                // the page contains the token
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer") // and so does its URL
	return web.Render(c, admin.Reset(p))
}
