package projects

import (
	"context"
	"slices"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/declaration"
	"mcpgateway/services/projects"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Access serves who can sign in to a project.
type Access struct {
	pages  *admin.ProjectPages
	store  *projects.Store
	people *access.Users
}

// NewAccess returns the handlers.
func NewAccess(pages *admin.ProjectPages, store *projects.Store, people *access.Users) *Access {
	return &Access{pages: pages, store: store, people: people}
}

// Show serves GET /admin/projects/:projectSlug/access.
func (a *Access) Show(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	members, err := a.people.Members(c.UserContext(), p.Project.ID)
	if err != nil {
		return err
	}
	people, err := a.people.List(c.UserContext())
	if err != nil {
		return err
	}
	props := views.AccessProps{
		Frame: a.pages.ProjectFrame(c, p, layout.TabAccess, "Access"),
		Slug:  p.Project.Slug, AuthMode: string(p.Project.AuthMode), Access: string(p.Project.OAuthAccess),
	}
	props.Members, props.Others = membersOf(members, people)
	return web.Render(c, views.Access(props))
}

// Save serves POST /admin/projects/:projectSlug/access.
func (a *Access) Save(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	to := paths.Access(p.Project.Slug)
	d := &declaration.Project{OAuthAccess: new(models.OAuthAccess(web.FormValue(c, "oauthAccess")))}
	if _, err := a.store.UpdateProject(c.UserContext(), p.Project.Slug, d); err != nil {
		return frame.Failed(c, to, err)
	}
	return frame.Done(c, to, "Settings saved.")
}

// AddMember serves POST …/access/members.
func (a *Access) AddMember(c *fiber.Ctx) error {
	return a.member(c, a.people.AddMember, "Member added.")
}

// RemoveMember serves POST …/access/members/remove.
func (a *Access) RemoveMember(c *fiber.Ctx) error {
	return a.member(c, a.people.RemoveMember, "Member removed.")
}

func (a *Access) member(c *fiber.Ctx, change func(ctx context.Context, projectID, userID string) error, done string) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	to := paths.Access(p.Project.Slug)
	if err := change(c.UserContext(), p.Project.ID, web.FormValue(c, "person")); err != nil {
		return frame.Failed(c, to, err)
	}
	return frame.Done(c, to, done)
}

// membersOf returns the members of a project, and the users who can be added.
func membersOf(members, people []access.User) (shown []views.Member, others []ui.Option) {
	for _, m := range members {
		shown = append(shown, views.Member{ID: m.ID, Name: m.Name, Email: m.Email})
	}
	for _, person := range people {
		if person.DisabledAt == nil && !slices.ContainsFunc(members, func(m access.User) bool { return m.ID == person.ID }) {
			others = append(others, ui.Option{Value: person.ID, Label: ui.Clean(person.Called())})
		}
	}
	return shown, others
}
