package settings

import (
	"net/url"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/access/factors"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/fault"
	"mcpgateway/services/invitations"
	"mcpgateway/services/secrets"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// PeopleOptions configure the pages of user accounts.
type PeopleOptions struct {
	Pages    *frame.Pages
	People   *access.Users
	Groups   *groups.Store
	Factors  *factors.Store
	Links    *invitations.Links
	Provider string           // name of the identity provider; empty without one
	Public   *url.URL         // origin of links
	Seal     *secrets.KeyRing // encrypts links for the page that shows them
	Now      func() time.Time
}

// People serves the user accounts to administrators.
type People struct {
	PeopleOptions
	pages  *frame.Pages
	people *access.Users
	now    func() time.Time
}

// NewPeople returns the handlers.
func NewPeople(o PeopleOptions) *People {
	return &People{PeopleOptions: o, pages: o.Pages, people: o.People, now: o.Now}
}

// List serves GET /admin/people?query=.
func (a *People) List(c *fiber.Ctx) error {
	users, err := a.people.List(c.UserContext())
	if err != nil {
		return err
	}
	invites, err := a.people.PendingInvites(c.UserContext())
	if err != nil {
		return err
	}
	owners, err := a.Factors.Owners(c.UserContext())
	if err != nil {
		return err
	}
	text := strings.TrimSpace(c.Query("query"))
	p := views.PeopleProps{Frame: a.pages.Frame(c, "People", layout.SectionPeople), Now: a.now(), Query: text, Total: len(users)}
	for _, person := range users {
		if !admin.Mentions(person.Email, text) && !admin.Mentions(person.Name, text) {
			continue
		}
		if p.Found++; p.Found <= admin.MaxShown {
			p.People = append(p.People, a.row(c, person, invites, owners[person.ID]))
		}
	}
	return web.Render(c, views.People(p))
}

// New serves GET /admin/people/invite.
func (a *People) New(c *fiber.Ctx) error {
	return a.newForm(c, views.PersonNewProps{Role: string(models.RoleViewer), Mail: true}, nil)
}

// Create serves POST /admin/people. The page of the user shows the invite link.
func (a *People) Create(c *fiber.Ctx) error {
	form := access.NewUser{Email: web.FormValue(c, "email"), Name: web.FormValue(c, "name"), Role: models.Role(web.FormValue(c, "role"))}
	created, err := a.Links.Invite(c.UserContext(), form, a.mailed(c))
	if err != nil {
		return a.newForm(c, views.PersonNewProps{Email: form.Email, Name: form.Name, Role: string(form.Role), Mail: a.mailed(c)}, err)
	}
	return a.created(c, created, created.User.Email+" invited.")
}

// Invite serves POST /admin/people/:id/invite. It replaces the invite link of a
// user who has not joined.
func (a *People) Invite(c *fiber.Ctx) error {
	created, err := a.Links.Renew(c.UserContext(), c.Params("id"), a.mailed(c))
	if err != nil {
		return frame.Failed(c, a.path(c), err)
	}
	return a.created(c, created, "Link created. The old one no longer works.")
}

// Reset serves POST /admin/people/:id/reset. The page of the user shows the link.
func (a *People) Reset(c *fiber.Ctx) error {
	created, err := a.Links.Reset(c.UserContext(), c.Params("id"), a.mailed(c))
	if err != nil {
		return frame.Failed(c, a.path(c), err)
	}
	return a.created(c, created, "Reset link created.")
}

// mailed reports whether the form requests that the link be sent.
func (a *People) mailed(c *fiber.Ctx) bool {
	return a.Links.MailOn() && web.FormValue(c, "mail") == "1"
}

// newLink is a new link for the page of its user.
type newLink struct {
	Token  string `json:"token"`
	Mailed bool   `json:"mailed"`
}

// created redirects to the page of a user, which shows the new link.
func (a *People) created(c *fiber.Ctx, link invitations.Created, message string) error {
	to := paths.Person(link.User.ID)
	if err := frame.PutOnceWith(c, a.Seal, a.now(), to, newLink{Token: link.Token.Reveal(), Mailed: link.Mailed}); err != nil {
		return err
	}
	if link.Problem != "" {
		frame.PutFlash(c, layout.Flash{Tone: "warn", Text: message + " It wasn't sent: " + link.Problem + ". Copy the link instead."})
		return c.Redirect(to, fiber.StatusSeeOther)
	}
	if link.Mailed {
		message += " Sent to " + link.User.Email + "."
	}
	return frame.Done(c, to, message)
}

// Show serves GET /admin/people/:id.
func (a *People) Show(c *fiber.Ctx) error { return a.page(c, "", nil) }

// Update serves POST /admin/people/:id: the name and the role.
func (a *People) Update(c *fiber.Ctx) error {
	id, name, role := c.Params("id"), web.FormValue(c, "name"), models.Role(web.FormValue(c, "role"))
	person, err := a.people.Get(c.UserContext(), id)
	if err == nil {
		err = frame.CheckUnchanged(c, detailsOf(person), frame.NewEntry("Name", person.Name, name), frame.NewEntry("Role", string(person.Role), string(role)))
	}
	if err == nil && role != person.Role {
		err = a.people.SetRole(c.UserContext(), id, role)
	}
	if err == nil && name != person.Name {
		err = a.people.Rename(c.UserContext(), id, name)
	}
	return a.done(c, "details", err, "Saved.")
}

// personDetails are the stored values that the form of a user can change.
type personDetails struct {
	Name string
	Role models.Role
}

func detailsOf(p access.User) personDetails { return personDetails{p.Name, p.Role} }

// Disable serves POST /admin/people/:id/disable.
func (a *People) Disable(c *fiber.Ctx) error {
	if err := a.people.Disable(c.UserContext(), c.Params("id")); err != nil {
		return frame.Failed(c, a.path(c), err)
	}
	return frame.Done(c, a.path(c), "Person blocked.")
}

// ResetFactors serves POST /admin/people/:id/reset-factors.
func (a *People) ResetFactors(c *fiber.Ctx) error {
	if err := a.people.ResetFactors(c.UserContext(), c.Params("id")); err != nil {
		return frame.Failed(c, a.path(c), err)
	}
	return frame.Done(c, a.path(c), "Second factors removed.")
}

// Enable serves POST /admin/people/:id/enable.
func (a *People) Enable(c *fiber.Ctx) error {
	if err := a.people.Enable(c.UserContext(), c.Params("id")); err != nil {
		return frame.Failed(c, a.path(c), err)
	}
	return frame.Done(c, a.path(c), "Person unblocked.")
}

// Delete serves POST /admin/people/:id/delete. The administrator must type the
// user's email address to confirm.
func (a *People) Delete(c *fiber.Ctx) error {
	person, err := a.people.Get(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	if web.FormValue(c, "confirm") != person.Called() {
		err = fault.Invalid("Type %s to delete the account.", person.Called())
	} else {
		err = a.people.Delete(c.UserContext(), person.ID)
	}
	if err != nil {
		return a.page(c, "delete", err)
	}
	return frame.Done(c, paths.People, person.Called()+" deleted.")
}

func (a *People) path(c *fiber.Ctx) string { return paths.Person(c.Params("id")) }

// done responds to a form of the user's page.
func (a *People) done(c *fiber.Ctx, form string, err error, message string) error {
	if err == nil {
		return frame.Done(c, a.path(c), message)
	}
	return a.page(c, form, err)
}

// page renders a user. failed is the error of the named form, or nil.
func (a *People) page(c *fiber.Ctx, form string, failed error) error {
	errors, err := frame.Fields(c, failed)
	if err != nil {
		return err
	}
	person, err := a.people.Get(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	invites, err := a.people.PendingInvites(c.UserContext())
	if err != nil {
		return err
	}
	set, err := a.Factors.Of(c.UserContext(), person.ID)
	if err != nil {
		return err
	}
	p := views.PersonProps{Now: a.now(), Row: a.row(c, person, invites, len(set.Factors) > 0), Factors: factorWords(set), Form: form, Errors: errors, Seen: frame.Fingerprint(detailsOf(person)), Provider: a.Provider}
	if p.Groups, err = a.groupsOf(c, person.ID); err != nil {
		return err
	}
	p.Mail = a.Links.MailOn()
	if err := a.showLink(c, &p); err != nil {
		return err
	}
	if form == "details" {
		p.Row.Name, p.Row.Role = web.FormValue(c, "name"), web.FormValue(c, "role")
	}
	p.Frame = a.pages.Frame(c, person.Called(), layout.SectionPeople)
	p.Crumbs = []layout.Crumb{{Label: "People", URL: paths.People}, {Label: p.Row.Called()}}
	return web.Render(c, views.Person(p))
}

// LinkDone serves POST /admin/people/:id/done. The page shows the new link no more.
func (a *People) LinkDone(c *fiber.Ctx) error {
	frame.DropOnce(c, a.now(), a.path(c))
	return c.Redirect(a.path(c), fiber.StatusSeeOther)
}

// showLink adds the state of the user's link to the page, and the link right after
// it was created.
func (a *People) showLink(c *fiber.Ctx, p *views.PersonProps) error {
	resets, err := a.people.PendingResets(c.UserContext())
	if err != nil {
		return err
	}
	if until, pending := resets[p.Row.ID]; pending {
		p.ResetUntil = &until
	}
	var link newLink
	switch {
	case !frame.OnceWith(c, a.Seal, a.now(), &link):
	case p.Row.InvitedUntil != nil:
		p.Link, p.Mailed = a.Public.JoinPath(paths.Join(link.Token)).String(), link.Mailed
	case p.ResetUntil != nil:
		p.Link, p.Mailed = a.Public.JoinPath(paths.Reset(link.Token)).String(), link.Mailed
	}
	return nil
}

// groupsOf returns the groups of a user for the page.
func (a *People) groupsOf(c *fiber.Ctx, id string) ([]views.PersonGroup, error) {
	list, err := a.Groups.Of(c.UserContext(), id)
	shown := make([]views.PersonGroup, len(list))
	for i, g := range list {
		shown[i] = views.PersonGroup{ID: g.ID, Name: g.Name, Role: string(g.Role), Local: g.Member.Local, ExpiresAt: g.Member.ExpiresAt, Counts: g.Member.Counts}
	}
	return shown, err
}

// factorWords describes the second factors of a user, or returns "".
func factorWords(set factors.Set) string {
	apps, passkeys := 0, 0
	for _, f := range set.Factors {
		if f.Kind == factors.KindApp {
			apps++
		} else {
			passkeys++
		}
	}
	var words []string
	if apps > 0 {
		words = append(words, ui.Plural(apps, "authenticator app", "authenticator apps"))
	}
	if passkeys > 0 {
		words = append(words, ui.Plural(passkeys, "passkey", "passkeys"))
	}
	return strings.Join(words, ", ")
}

// newForm renders the form. failed is the error of a rejected user, or nil.
func (a *People) newForm(c *fiber.Ctx, p views.PersonNewProps, failed error) (err error) {
	if p.Errors, err = frame.Fields(c, failed); err != nil {
		return err
	}
	p.Frame = a.pages.Frame(c, "Invite", layout.SectionPeople)
	p.Crumbs = []layout.Crumb{{Label: "People", URL: paths.People}, {Label: "Invite"}}
	p.Provider, p.MailOn = a.Provider, a.Links.MailOn()
	return web.Render(c, views.PersonNew(p))
}

// row returns a user for the pages. invites are the ends of the valid invites, and
// secured reports whether the user has a second factor.
func (a *People) row(c *fiber.Ctx, p access.User, invites map[string]time.Time, secured bool) views.PersonRow {
	row := views.PersonRow{
		ID: p.ID, Email: p.Email, Name: p.Name, Role: string(p.Role), Effective: string(p.EffectiveRole), Disabled: p.DisabledAt != nil, Joined: p.HasPassword || p.HasIdentity, HasPassword: p.HasPassword,
		Self: guard.UserOf(c) != nil && guard.UserOf(c).ID == p.ID, CreatedAt: p.CreatedAt, LastLoginAt: p.LastLoginAt,
	}
	if until, ok := invites[p.ID]; ok && !row.Joined {
		row.InvitedUntil = &until
	}
	var ways []string
	if p.HasPassword {
		ways = append(ways, "Password")
	}
	if p.HasIdentity {
		ways = append(ways, "Single sign-on")
	}
	if secured {
		ways = append(ways, "Second factor")
	}
	row.SignsIn = strings.Join(ways, ", ")
	return row
}
