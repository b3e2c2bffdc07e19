package admin

import (
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// peoplePath is the page of everybody with an account.
const peoplePath = "/admin/people"

// maxPeopleShown is how many people a page names; a search finds the others.
const maxPeopleShown = 100

// People serves the accounts of people to administrators.
type People struct {
	pages    *Pages
	people   *access.People
	provider bool // somebody without a password can sign in
	now      func() time.Time
}

// NewPeople returns the handlers. provider reports whether single sign-on is
// configured.
func NewPeople(pages *Pages, people *access.People, provider bool, now func() time.Time) *People {
	return &People{pages: pages, people: people, provider: provider, now: now}
}

// List serves GET /admin/people?query=.
func (a *People) List(c *fiber.Ctx) error {
	everybody, err := a.people.List(c.UserContext())
	if err != nil {
		return err
	}
	text := strings.TrimSpace(c.Query("query"))
	p := admin.PeopleProps{Frame: a.pages.Frame(c, "People", layout.SectionPeople), Now: a.now(), Query: text, Total: len(everybody)}
	for _, person := range everybody {
		if !holdsText(person.Email, text) && !holdsText(person.Name, text) {
			continue
		}
		if p.Found++; p.Found <= maxPeopleShown {
			p.People = append(p.People, a.row(c, person))
		}
	}
	return web.Render(c, admin.People(p))
}

// New serves GET /admin/people/new.
func (a *People) New(c *fiber.Ctx) error {
	return a.newForm(c, admin.PersonNewProps{Role: string(models.RoleViewer)})
}

// Create serves POST /admin/people.
func (a *People) Create(c *fiber.Ctx) error {
	form := access.NewPerson{Email: posted(c, "email"), Name: posted(c, "name"), Role: models.Role(posted(c, "role")), Password: postedSecret(c, "password")}
	var err error
	if !a.provider && form.Password.IsZero() {
		err = fault.Validation(map[string]string{"password": "give them a password: single sign-on is not configured"})
	} else {
		_, err = a.people.Create(c.UserContext(), form)
	}
	if err != nil {
		errors, ok := Fields(c, err)
		if !ok {
			return err
		}
		return a.newForm(c, admin.PersonNewProps{Email: form.Email, Name: form.Name, Role: string(form.Role), Errors: errors})
	}
	return Done(c, peoplePath, form.Email+" may sign in now.")
}

// Show serves GET /admin/people/:id.
func (a *People) Show(c *fiber.Ctx) error { return a.page(c, "", nil) }

// Update serves POST /admin/people/:id: the name and the role.
func (a *People) Update(c *fiber.Ctx) error {
	id, name, role := c.Params("id"), posted(c, "name"), models.Role(posted(c, "role"))
	person, err := a.people.Get(c.UserContext(), id)
	if err == nil {
		err = unlessChanged(c, detailsOf(person), setting{"Name", person.Name, name}, setting{"Role", string(person.Role), string(role)})
	}
	if err == nil && role != person.Role {
		err = a.people.SetRole(c.UserContext(), id, role)
	}
	if err == nil && name != person.Name {
		err = a.people.Rename(c.UserContext(), id, name)
	}
	return a.done(c, "details", err, "Saved.")
}

// personDetails are what the form of a person's page holds.
type personDetails struct {
	Name string
	Role models.Role
}

func detailsOf(p access.Person) personDetails { return personDetails{p.Name, p.Role} }

// SetPassword serves POST /admin/people/:id/password.
func (a *People) SetPassword(c *fiber.Ctx) error {
	err := a.people.ResetPassword(c.UserContext(), c.Params("id"), postedSecret(c, "password"))
	return a.done(c, "password", err, "The new password works from now on.")
}

// Disable serves POST /admin/people/:id/disable.
func (a *People) Disable(c *fiber.Ctx) error {
	if err := a.people.Disable(c.UserContext(), c.Params("id")); err != nil {
		return Failed(c, a.path(c), err)
	}
	return Done(c, a.path(c), "They are signed out and cannot sign in.")
}

// Enable serves POST /admin/people/:id/enable.
func (a *People) Enable(c *fiber.Ctx) error {
	if err := a.people.Enable(c.UserContext(), c.Params("id")); err != nil {
		return Failed(c, a.path(c), err)
	}
	return Done(c, a.path(c), "They may sign in again.")
}

// Delete serves POST /admin/people/:id/delete. The person's e-mail address has
// to be typed.
func (a *People) Delete(c *fiber.Ctx) error {
	person, err := a.people.Get(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	if posted(c, "confirm") != person.Email {
		err = fault.Invalid("type %s to delete the account", person.Email)
	} else {
		err = a.people.Delete(c.UserContext(), person.ID)
	}
	if err != nil {
		errors, ok := Fields(c, err)
		if !ok {
			return err
		}
		return a.page(c, "delete", errors)
	}
	return Done(c, peoplePath, person.Email+" is deleted.")
}

func (a *People) path(c *fiber.Ctx) string { return peoplePath + "/" + c.Params("id") }

// done answers a form of the person's page.
func (a *People) done(c *fiber.Ctx, form string, err error, message string) error {
	if err == nil {
		return Done(c, a.path(c), message)
	}
	errors, ok := Fields(c, err)
	if !ok {
		return err
	}
	return a.page(c, form, errors)
}

func (a *People) page(c *fiber.Ctx, form string, errors map[string]string) error {
	person, err := a.people.Get(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	p := admin.PersonProps{Now: a.now(), Row: a.row(c, person), HasOwn: person.HasPassword, Form: form, Errors: errors, Seen: seen(detailsOf(person))}
	if form == "details" {
		p.Row.Name, p.Row.Role = posted(c, "name"), posted(c, "role")
	}
	p.Frame = a.pages.Frame(c, person.Email, layout.SectionPeople)
	return web.Render(c, admin.Person(p))
}

func (a *People) newForm(c *fiber.Ctx, p admin.PersonNewProps) error {
	p.Frame = a.pages.Frame(c, "Add a person", layout.SectionPeople)
	p.Provider = a.provider
	return web.Render(c, admin.PersonNew(p))
}

func (a *People) row(c *fiber.Ctx, p access.Person) admin.PersonRow {
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
	return admin.PersonRow{
		ID: p.ID, Email: p.Email, Name: p.Name, Role: string(p.Role), SignsIn: strings.Join(ways, " and "), Disabled: p.DisabledAt != nil,
		Self: guard.PersonOf(c) != nil && guard.PersonOf(c).ID == p.ID, CreatedAt: p.CreatedAt, LastLoginAt: p.LastLoginAt,
	}
}

// holdsText reports whether text is part of s, whatever the case.
func holdsText(s, text string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(text))
}
