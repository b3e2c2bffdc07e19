package settings

import (
	"context"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/fault"
	views "mcpgateway/views/admin/groups"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Groups serves the groups of users to administrators.
type Groups struct {
	pages  *frame.Pages
	groups *groups.Store
	people *access.Users
	now    func() time.Time
}

// NewGroups returns the handlers.
func NewGroups(pages *frame.Pages, groups *groups.Store, people *access.Users, now func() time.Time) *Groups {
	return &Groups{pages: pages, groups: groups, people: people, now: now}
}

// List serves GET /admin/groups?query=.
func (a *Groups) List(c *fiber.Ctx) error {
	list, err := a.groups.List(c.UserContext())
	if err != nil {
		return err
	}
	text := strings.TrimSpace(c.Query("query"))
	p := views.ListProps{Frame: a.frame(c, "Groups"), Query: text, Total: len(list)}
	for _, g := range list {
		if !admin.Mentions(g.Name, text) && !admin.Mentions(g.Claim, text) {
			continue
		}
		if p.Found++; p.Found <= admin.MaxShown {
			p.Groups = append(p.Groups, rowOf(g))
		}
	}
	p.Crumbs = []layout.Crumb{{Label: "People", URL: paths.People}, {Label: "Groups"}}
	return web.Render(c, views.List(p))
}

// New serves GET /admin/groups/new.
func (a *Groups) New(c *fiber.Ctx) error {
	return a.newForm(c, views.Fields{Role: views.NoRole}, nil)
}

// Create serves POST /admin/groups.
func (a *Groups) Create(c *fiber.Ctx) error {
	entered := enteredFields(c)
	group, err := a.groups.Create(c.UserContext(), fieldsOf(entered))
	if err != nil {
		return a.newForm(c, entered, err)
	}
	return frame.Done(c, paths.Group(group.ID), "Group created.")
}

// Show serves GET /admin/groups/:id.
func (a *Groups) Show(c *fiber.Ctx) error { return a.page(c, "", nil) }

// Update serves POST /admin/groups/:id.
func (a *Groups) Update(c *fiber.Ctx) error {
	entered := enteredFields(c)
	group, err := a.groups.Get(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	stored := storedFields(group)
	err = frame.CheckUnchanged(c, stored, frame.NewEntry("Name", stored.Name, entered.Name), frame.NewEntry("Claim value", stored.Claim, entered.Claim), frame.NewEntry("Role", stored.Role, entered.Role))
	if err == nil {
		_, err = a.groups.Update(c.UserContext(), group.ID, fieldsOf(entered))
	}
	if err != nil {
		return a.page(c, "details", err)
	}
	return frame.Done(c, a.path(c), "Saved.")
}

// AddMember serves POST /admin/groups/:id/members. The user is given by ID or by
// email address.
func (a *Groups) AddMember(c *fiber.Ctx) error {
	return a.member(c, func(ctx context.Context, groupID, person string) error {
		if strings.Contains(person, "@") {
			people, err := a.people.List(ctx)
			if err != nil {
				return err
			}
			found, err := admin.PersonByEmail(people, person)
			if err != nil {
				return err
			}
			person = found.ID
		}
		return a.groups.AddMember(ctx, groupID, person)
	}, "Member added.")
}

// RemoveMember serves POST /admin/groups/:id/members/remove.
func (a *Groups) RemoveMember(c *fiber.Ctx) error {
	return a.member(c, a.groups.RemoveMember, "Member removed.")
}

func (a *Groups) member(c *fiber.Ctx, change func(ctx context.Context, groupID, userID string) error, done string) error {
	if err := change(c.UserContext(), c.Params("id"), web.FormValue(c, "person")); err != nil {
		return frame.Failed(c, a.path(c), err)
	}
	return frame.Done(c, a.path(c), done)
}

// Delete serves POST /admin/groups/:id/delete. The administrator must type the
// group's name to confirm.
func (a *Groups) Delete(c *fiber.Ctx) error {
	group, err := a.groups.Get(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	if web.FormValue(c, "confirm") != group.Name {
		err = fault.Invalid("Type %s to delete the group.", group.Name)
	} else {
		err = a.groups.Delete(c.UserContext(), group.ID)
	}
	if err != nil {
		return a.page(c, "delete", err)
	}
	return frame.Done(c, paths.Groups, group.Name+" deleted.")
}

func (a *Groups) path(c *fiber.Ctx) string { return paths.Group(c.Params("id")) }

func (a *Groups) frame(c *fiber.Ctx, title string) layout.Frame {
	return a.pages.Frame(c, title, layout.SectionPeople)
}

// newForm renders the form. failed is the error of a rejected group, or nil.
func (a *Groups) newForm(c *fiber.Ctx, entered views.Fields, failed error) (err error) {
	p := views.NewProps{Fields: entered}
	if p.Errors, err = frame.Fields(c, failed); err != nil {
		return err
	}
	p.Frame = a.frame(c, "New group")
	p.Crumbs = []layout.Crumb{{Label: "People", URL: paths.People}, {Label: "Groups", URL: paths.Groups}, {Label: "New group"}}
	return web.Render(c, views.New(p))
}

// page renders a group. failed is the error of the named form, or nil.
func (a *Groups) page(c *fiber.Ctx, form string, failed error) error {
	errors, err := frame.Fields(c, failed)
	if err != nil {
		return err
	}
	group, err := a.groups.Get(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	stored := storedFields(group)
	p := views.PageProps{Now: a.now(), Row: rowOf(group), Fields: stored, Form: form, Errors: errors, Seen: frame.Fingerprint(stored)}
	if form == "details" {
		p.Fields = enteredFields(c)
	}
	p.Query = strings.TrimSpace(c.Query("query"))
	if err := a.addMembers(c.UserContext(), &p, group.ID); err != nil {
		return err
	}
	p.Frame = a.frame(c, group.Name)
	p.Crumbs = []layout.Crumb{{Label: "People", URL: paths.People}, {Label: "Groups", URL: paths.Groups}, {Label: ui.Clean(group.Name)}}
	return web.Render(c, views.Page(p))
}

// addMembers sets the members of a group that match the search, and the enabled
// users who can be added unless there are more than a list shows.
func (a *Groups) addMembers(ctx context.Context, p *views.PageProps, id string) error {
	var members []groups.MemberInfo
	var err error
	if p.Query == "" {
		members, p.Found, err = a.groups.FirstMembers(ctx, id, admin.MaxShown)
	} else {
		members, err = a.groups.Members(ctx, id)
	}
	if err != nil {
		return err
	}
	local := map[string]bool{}
	for _, m := range members {
		local[m.UserID] = m.Local
		if !admin.Mentions(m.Name, p.Query) && !admin.Mentions(m.Email, p.Query) {
			continue
		}
		if p.Query != "" {
			p.Found++
		}
		if len(p.Members) < admin.MaxShown {
			p.Members = append(p.Members, views.Member{ID: m.UserID, Name: m.Name, Email: m.Email, Local: m.Local, ExpiresAt: m.ExpiresAt})
		}
	}
	people, few, err := a.people.ListUpTo(ctx, admin.MaxShown)
	if p.Many = !few; err != nil || p.Many {
		return err
	}
	for _, person := range people {
		if person.DisabledAt == nil && !local[person.ID] {
			p.Others = append(p.Others, ui.Option{Value: person.ID, Label: ui.Clean(person.Called())})
		}
	}
	return err
}

func rowOf(g groups.Group) views.Row {
	return views.Row{ID: g.ID, Name: g.Name, Claim: g.Claim, Role: string(g.Role), People: g.People}
}

// enteredFields returns the posted fields of a group.
func enteredFields(c *fiber.Ctx) views.Fields {
	return views.Fields{Name: strings.TrimSpace(web.FormValue(c, "name")), Claim: strings.TrimSpace(web.FormValue(c, "claim")), Role: web.FormValue(c, "role")}
}

// storedFields returns the fields of a group as the form shows them.
func storedFields(g groups.Group) views.Fields {
	f := views.Fields{Name: g.Name, Claim: g.Claim, Role: string(g.Role)}
	if f.Role == "" {
		f.Role = views.NoRole
	}
	return f
}

// fieldsOf returns the fields to store. A form without a role doesn't change it.
func fieldsOf(f views.Fields) groups.Fields {
	set := groups.Fields{Name: &f.Name, Claim: &f.Claim}
	if role := models.Role(f.Role); f.Role == views.NoRole {
		set.Role = new(models.Role)
	} else if f.Role != "" {
		set.Role = &role
	}
	return set
}
