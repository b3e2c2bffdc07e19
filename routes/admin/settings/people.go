package settings

import (
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// maxPeopleShown is the maximum number of users on a page. A search finds the others.
const maxPeopleShown = 100

// People serves the user accounts to administrators.
type People struct {
	pages    *frame.Pages
	people   *access.Users
	provider bool // users without a password can sign in
	now      func() time.Time
}

// NewPeople returns the handlers. provider reports whether single sign-on is
// configured.
func NewPeople(pages *frame.Pages, people *access.Users, provider bool, now func() time.Time) *People {
	return &People{pages: pages, people: people, provider: provider, now: now}
}

// List serves GET /admin/people?query=.
func (a *People) List(c *fiber.Ctx) error {
	users, err := a.people.List(c.UserContext())
	if err != nil {
		return err
	}
	text := strings.TrimSpace(c.Query("query"))
	p := views.PeopleProps{Frame: a.pages.Frame(c, "People", layout.SectionPeople), Now: a.now(), Query: text, Total: len(users)}
	for _, person := range users {
		if !admin.Mentions(person.Email, text) && !admin.Mentions(person.Name, text) {
			continue
		}
		if p.Found++; p.Found <= maxPeopleShown {
			p.People = append(p.People, a.row(c, person))
		}
	}
	return web.Render(c, views.People(p))
}

// New serves GET /admin/people/new.
func (a *People) New(c *fiber.Ctx) error {
	return a.newForm(c, views.PersonNewProps{Role: string(models.RoleViewer)}, nil)
}

// Create serves POST /admin/people.
func (a *People) Create(c *fiber.Ctx) error {
	form := access.NewUser{Email: web.FormValue(c, "email"), Name: web.FormValue(c, "name"), Role: models.Role(web.FormValue(c, "role")), Password: frame.FormSecret(c, "password")}
	var err error
	if !a.provider && form.Password.IsZero() {
		err = fault.Validation(map[string]string{"password": "enter a password, because single sign-on is not configured"})
	} else {
		_, err = a.people.Create(c.UserContext(), form)
	}
	if err != nil {
		return a.newForm(c, views.PersonNewProps{Email: form.Email, Name: form.Name, Role: string(form.Role)}, err)
	}
	return frame.Done(c, paths.People, form.Email+" added.")
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

// SetPassword serves POST /admin/people/:id/password.
func (a *People) SetPassword(c *fiber.Ctx) error {
	err := a.people.ResetPassword(c.UserContext(), c.Params("id"), frame.FormSecret(c, "password"))
	return a.done(c, "password", err, "Password set.")
}

// Disable serves POST /admin/people/:id/disable.
func (a *People) Disable(c *fiber.Ctx) error {
	if err := a.people.Disable(c.UserContext(), c.Params("id")); err != nil {
		return frame.Failed(c, a.path(c), err)
	}
	return frame.Done(c, a.path(c), "Person blocked.")
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
	if web.FormValue(c, "confirm") != person.Email {
		err = fault.Invalid("Type %s to delete the account.", person.Email)
	} else {
		err = a.people.Delete(c.UserContext(), person.ID)
	}
	if err != nil {
		return a.page(c, "delete", err)
	}
	return frame.Done(c, paths.People, person.Email+" deleted.")
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
	p := views.PersonProps{Now: a.now(), Row: a.row(c, person), HasOwn: person.HasPassword, Form: form, Errors: errors, Seen: frame.Fingerprint(detailsOf(person))}
	if form == "details" {
		p.Row.Name, p.Row.Role = web.FormValue(c, "name"), web.FormValue(c, "role")
	}
	p.Frame = a.pages.Frame(c, person.Email, layout.SectionPeople)
	return web.Render(c, views.Person(p))
}

// newForm renders the form. failed is the error of a rejected user, or nil.
func (a *People) newForm(c *fiber.Ctx, p views.PersonNewProps, failed error) (err error) {
	if p.Errors, err = frame.Fields(c, failed); err != nil {
		return err
	}
	p.Frame = a.pages.Frame(c, "Add person", layout.SectionPeople)
	p.Provider = a.provider
	return web.Render(c, views.PersonNew(p))
}

func (a *People) row(c *fiber.Ctx, p access.User) views.PersonRow {
	var ways []string
	if p.HasPassword {
		ways = append(ways, "password")
	}
	switch {
	case p.HasIdentity:
		ways = append(ways, "single sign-on")
	case len(ways) == 0:
		ways = append(ways, "single sign-on, not used yet")
	}
	return views.PersonRow{
		ID: p.ID, Email: p.Email, Name: p.Name, Role: string(p.Role), SignsIn: strings.Join(ways, " and "), Disabled: p.DisabledAt != nil,
		Self: guard.UserOf(c) != nil && guard.UserOf(c).ID == p.ID, CreatedAt: p.CreatedAt, LastLoginAt: p.LastLoginAt,
	}
}
