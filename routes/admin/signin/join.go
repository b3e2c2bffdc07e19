package signin

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
	"mcpgateway/web/compress"
	"mcpgateway/web/guard"
)

// Join serves invite links.
type Join struct {
	pages  *frame.Pages
	people *access.Users
	guards *guard.Guards
	sso    string // name of the identity provider; may be empty
}

// NewJoin returns the handlers. sso is the name of the identity provider, or ""
// without one.
func NewJoin(pages *frame.Pages, people *access.Users, guards *guard.Guards, sso string) *Join {
	return &Join{pages: pages, people: people, guards: guards, sso: sso}
}

// Show serves GET /invite/:token. It responds with 410 if the link was used
// or has expired, and with 404 to an unknown one.
func (j *Join) Show(c *fiber.Ctx) error { return j.form(c, "", nil) }

// Accept serves POST /invite/:token and signs the user in.
func (j *Join) Accept(c *fiber.Ctx) error {
	name := web.FormValue(c, "name")
	if web.FormValue(c, "password") != web.FormValue(c, "again") {
		errors, _ := frame.Fields(c, fault.Validation(map[string]string{"again": "Passwords don't match."}))
		return j.form(c, name, errors)
	}
	form := access.InviteForm{Token: tokenOf(c), Name: name, Password: frame.FormSecret(c, "password")}
	in, err := j.people.AcceptInvite(c.UserContext(), form, browserOf(c, j.guards))
	if err != nil {
		errors := refused(c, err)
		if errors == nil {
			return deadLink(c, j.pages, err)
		}
		return j.form(c, name, errors)
	}
	setSignedIn(c, j.guards, in)
	return frame.Done(c, homeOf(in.Session.Person.EffectiveRole), "Welcome. You've joined.")
}

func (j *Join) form(c *fiber.Ctx, name string, errors map[string]string) error {
	found, err := j.people.Invitation(c.UserContext(), tokenOf(c))
	if err != nil {
		return deadLink(c, j.pages, err)
	}
	p := admin.JoinProps{Token: tokenOf(c).Reveal(), Email: found.User.Email, Name: name, Role: string(found.User.Role), Errors: errors}
	if errors == nil {
		p.Name = found.User.Name
	}
	p.Frame = j.pages.Frame(c, "Join", layout.SectionNone)
	if j.sso != "" {
		p.Provider, p.ProviderURL = j.sso, paths.WithNext(paths.SingleSignOn, homeOf(found.User.Role))
	}
	compress.Never(c)                                // the page contains the token
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer") // and so does its URL
	return web.Render(c, admin.Join(p))
}

func tokenOf(c *fiber.Ctx) secrets.Value { return secrets.NewValue(c.Params("token")) }

// homeOf returns the first page of users with a role.
func homeOf(role models.Role) string {
	if access.Administers(role) {
		return paths.Home
	}
	return paths.Me
}
