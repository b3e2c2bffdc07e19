package projects

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/access/grants"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/access/rights"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/access"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Views returns what people see of a project. Implemented by views.Views.
type Views interface {
	Held(project *toolset.Snapshot, held rights.Held) *toolset.Snapshot
	// Key returns what clients with a key see, or nil if they see nothing.
	Key(project *toolset.Snapshot, keyID string) *toolset.Snapshot
}

// AccessOptions are the dependencies of Access.
type AccessOptions struct {
	Pages  *admin.ProjectPages
	Store  *projects.Store
	People *access.Users
	Groups *groups.Store
	Grants *grants.Store
	Keys   *keys.Store
	Rights *rights.Index
	Views  Views
	Search *toolsearch.Searcher
}

// Access serves who can use a project and its toolsets.
type Access struct{ AccessOptions }

// NewAccess returns the handlers.
func NewAccess(o AccessOptions) *Access { return &Access{o} }

// Prefixes of the form values of people, groups and toolsets, and the value of
// the whole project.
const (
	personPrefix  = "person:"
	groupPrefix   = "group:"
	toolsetPrefix = "toolset:"
	wholeProject  = "project"
	maintainer    = "maintainer"
)

// Show serves GET /admin/projects/:projectSlug/access.
func (a *Access) Show(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	props := views.Props{
		Frame: a.Pages.ProjectFrame(c, p, layout.TabAccess, "Access"),
		Slug:  p.Project.Slug, AuthMode: string(p.Project.AuthMode), OAuthAccess: string(p.Project.OAuthAccess),
		PersonalKeys: views.PersonalKeys{Enabled: p.Project.PersonalKeysEnabled, MaxDays: strconv.Itoa(p.Project.PersonalKeysMaxDays)},
		Tools:        []ui.Option{{Value: wholeProject, Label: "Everything"}},
	}
	props.Query = strings.TrimSpace(c.Query("query"))
	if err := a.addGrants(c.UserContext(), &props, p.Project.ID); err != nil {
		return err
	}
	for _, t := range p.ToolsetsBySlug() {
		props.Tools = append(props.Tools, ui.Option{Value: toolsetPrefix + t.Slug, Label: ui.Clean(t.Name)})
	}
	props.Tools = append(props.Tools, ui.Option{Value: maintainer, Label: "Everything, as a maintainer"})
	if props.Subjects, err = a.subjects(c); err != nil {
		return err
	}
	return web.Render(c, views.Page(props))
}

// addGrants sets the first grants that match the search.
func (a *Access) addGrants(ctx context.Context, props *views.Props, projectID string) error {
	if props.Query == "" {
		first, total, err := a.Grants.First(ctx, projectID, admin.MaxShown)
		for _, g := range first {
			props.Grants = append(props.Grants, grantOf(g))
		}
		props.Found, props.Total = total, total
		return err
	}
	stored, err := a.Grants.List(ctx, projectID)
	props.Total = len(stored)
	for _, g := range stored {
		if !admin.Mentions(g.Name, props.Query) && !admin.Mentions(g.Email, props.Query) {
			continue
		}
		if props.Found++; props.Found <= admin.MaxShown {
			props.Grants = append(props.Grants, grantOf(g))
		}
	}
	return err
}

func grantOf(g grants.Grant) views.Grant {
	row := views.Grant{ID: g.ID, Name: cmp.Or(g.Name, g.Email), Email: g.Email, By: "Person", Tools: "everything"}
	if g.Kind == models.SubjectGroup {
		row.By = "Group"
	}
	switch {
	case g.Role == models.GrantMaintain:
		row.By = row.By + ", maintainer"
	case g.Toolset != nil:
		row.Tools = g.Toolset.Name
	}
	return row
}

// subjects returns the enabled people and the groups to grant access to, and none
// if there are more than a list shows.
func (a *Access) subjects(c *fiber.Ctx) (options []ui.Option, err error) {
	people, few, err := a.People.ListUpTo(c.UserContext(), admin.MaxShown)
	if err != nil || !few {
		return nil, err
	}
	all, err := a.Groups.List(c.UserContext())
	if err != nil || len(people)+len(all) > admin.MaxShown {
		return nil, err
	}
	for _, p := range people {
		if p.DisabledAt == nil {
			options = append(options, ui.Option{Value: personPrefix + p.ID, Label: ui.Clean(cmp.Or(p.Email, p.Name))})
		}
	}
	for _, g := range all {
		options = append(options, ui.Option{Value: groupPrefix + g.ID, Label: "Group: " + ui.Clean(g.Name)})
	}
	return options, nil
}

// subject returns the form value of the person or group that was entered: its
// form value, an email address, or the name of a group.
func (a *Access) subject(c *fiber.Ctx, entered string) (string, error) {
	entered = strings.TrimSpace(entered)
	if entered == "" || strings.HasPrefix(entered, personPrefix) || strings.HasPrefix(entered, groupPrefix) {
		return entered, nil
	}
	if strings.Contains(entered, "@") {
		people, err := a.People.List(c.UserContext())
		if err != nil {
			return "", err
		}
		person, err := admin.PersonByEmail(people, entered)
		return personPrefix + person.ID, err
	}
	all, err := a.Groups.List(c.UserContext())
	if err != nil {
		return "", err
	}
	for _, g := range all {
		if strings.EqualFold(g.Name, entered) {
			return groupPrefix + g.ID, nil
		}
	}
	return "", fault.Invalid("There is no group %q. Enter the email address of a person, or the name of a group.", entered)
}

// Save serves POST /admin/projects/:projectSlug/access.
func (a *Access) Save(c *fiber.Ctx) error {
	return a.update(c, &declaration.Project{OAuthAccess: new(models.OAuthAccess(web.FormValue(c, "oauthAccess")))}, "Settings saved.")
}

// SavePersonalKeys serves POST …/access/personal-keys.
func (a *Access) SavePersonalKeys(c *fiber.Ctx) error {
	days, err := strconv.ParseInt(strings.TrimSpace(web.FormValue(c, "maxDays")), 10, 64)
	if err != nil {
		return frame.Failed(c, paths.Access(c.Params("projectSlug")), fault.Invalid("Enter a whole number of days."))
	}
	on := web.FormValue(c, "enabled") != ""
	return a.update(c, &declaration.Project{PersonalKeys: &on, PersonalKeyDays: &days}, "Personal keys saved.")
}

func (a *Access) update(c *fiber.Ctx, d *declaration.Project, done string) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	to := paths.Access(p.Project.Slug)
	if _, err := a.Store.UpdateProject(c.UserContext(), p.Project.Slug, d); err != nil {
		return frame.Failed(c, to, err)
	}
	return frame.Done(c, to, done)
}

// Grant serves POST …/access/grants.
func (a *Access) Grant(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	to := paths.Access(p.Project.Slug)
	var request grants.Request
	subject, err := a.subject(c, web.FormValue(c, "subject"))
	if err == nil {
		request, err = requestOf(subject, web.FormValue(c, "tools"))
	}
	if err == nil {
		_, err = a.Grants.Add(c.UserContext(), p.Project.ID, request)
	}
	if err != nil {
		return frame.Failed(c, to, err)
	}
	return frame.Done(c, to, "Access granted.")
}

// requestOf converts the values of the form to a grant.
func requestOf(subject, tools string) (r grants.Request, err error) {
	person, isPerson := strings.CutPrefix(subject, personPrefix)
	group, isGroup := strings.CutPrefix(subject, groupPrefix)
	slug, isToolset := strings.CutPrefix(tools, toolsetPrefix)
	switch {
	case isPerson:
		r.PersonID = person
	case isGroup:
		r.GroupID = group
	default:
		return r, fault.Invalid("Choose a person or a group.")
	}
	switch {
	case isToolset && slug != "":
		r.Toolset = slug
	case tools == maintainer:
		r.Role = models.GrantMaintain
	case tools != wholeProject:
		return r, fault.Invalid("Choose everything or a toolset.")
	}
	return r, nil
}

// Remove serves POST …/access/grants/:id/remove.
func (a *Access) Remove(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	to := paths.Access(p.Project.Slug)
	if err := a.Grants.Remove(c.UserContext(), p.Project.ID, c.Params("id")); err != nil {
		return frame.Failed(c, to, err)
	}
	return frame.Done(c, to, "Access removed.")
}
