package projects

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"mcpgateway/services/access/keys"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Settings serves the settings of projects.
type Settings struct {
	pages  *admin.ProjectPages
	store  *projects.Store
	people *access.People
	keys   *keys.Store
}

// NewSettings returns the handlers.
func NewSettings(pages *admin.ProjectPages, store *projects.Store, people *access.People, keys *keys.Store) *Settings {
	return &Settings{pages: pages, store: store, people: people, keys: keys}
}

// Show serves GET /admin/projects/:projectSlug/settings.
func (a *Settings) Show(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	return a.page(c, p, views.ProjectSettingsProps{Form: formOf(p)}, nil)
}

func formOf(p *toolset.Snapshot) views.ProjectForm {
	row := p.Project
	return views.ProjectForm{
		Name: row.Name, Description: row.Description, AuthMode: string(row.AuthMode), OAuthAccess: string(row.OAuthAccess),
		ToolExposure: string(row.ToolExposure), ToolNameLimit: strconv.Itoa(row.ToolNameLimit),
		PerSecond: strconv.FormatFloat(row.RatePerSecond, 'f', -1, 64), Burst: strconv.Itoa(row.RateBurst), RecordPayloads: row.RecordPayloads,
	}
}

// page shows the settings; failed is why they were not saved, or nil.
func (a *Settings) page(c *fiber.Ctx, p *toolset.Snapshot, props views.ProjectSettingsProps, failed error) (err error) {
	if props.Errors, err = frame.Fields(c, failed); err != nil {
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
	keys, err := a.keys.List(c.UserContext(), p.Project.ID)
	if err != nil {
		return err
	}
	props.Frame, props.Project = a.pages.ProjectFrame(c, p, "Settings"), a.pages.Head(p, layout.TabSettings)
	props.Stored, props.Seen = formOf(p), frame.Fingerprint(formOf(p))
	props.Shared, props.Servers, props.Keys = credentialsOf(p), len(p.Servers), len(keys)
	props.Members, props.Others = membersOf(members, people)
	return web.Render(c, views.ProjectSettings(props))
}

// membersOf returns the members of a project, and who else can become one.
func membersOf(members, people []access.Person) (shown []views.Member, others []ui.Option) {
	for _, m := range members {
		shown = append(shown, views.Member{ID: m.ID, Name: m.Name, Email: m.Email})
	}
	for _, person := range people {
		if person.DisabledAt == nil && !slices.ContainsFunc(members, func(m access.Person) bool { return m.ID == person.ID }) {
			others = append(others, ui.Option{Value: person.ID, Label: ui.Clean(person.Email)})
		}
	}
	return shown, others
}

// Save serves POST /admin/projects/:projectSlug/settings.
func (a *Settings) Save(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	form := postedForm(c)
	d, err := declarationOf(form)
	if err == nil {
		err = confirmed(p, form)
	}
	if err == nil {
		err = frame.CheckUnchanged(c, formOf(p), settingsOf(formOf(p), form)...)
	}
	if err == nil {
		_, err = a.store.UpdateProject(c.UserContext(), p.Project.Slug, d)
	}
	if err != nil {
		return a.page(c, p, views.ProjectSettingsProps{Form: form}, err)
	}
	return frame.Done(c, paths.ProjectSettings(p.Project.Slug), "The settings are saved.")
}

// confirmed returns what has to be confirmed before anybody may use the
// credentials of a project.
func confirmed(p *toolset.Snapshot, form views.ProjectForm) error {
	opens := form.AuthMode == string(models.AuthNone) && p.Project.AuthMode != models.AuthNone
	if opens && !form.Understood && len(credentialsOf(p)) > 0 {
		return fault.Validation(map[string]string{"understood": "confirm that this is what you want"})
	}
	return nil
}

func postedForm(c *fiber.Ctx) views.ProjectForm {
	return views.ProjectForm{
		Name: strings.TrimSpace(web.Posted(c, "name")), Description: strings.TrimSpace(web.Posted(c, "description")), AuthMode: web.Posted(c, "authMode"),
		OAuthAccess: web.Posted(c, "oauthAccess"), ToolExposure: web.Posted(c, "toolExposure"), ToolNameLimit: web.Posted(c, "toolNameLimit"),
		PerSecond: web.Posted(c, "rateLimit.perSecond"), Burst: web.Posted(c, "rateLimit.burst"), Understood: web.Posted(c, "understood") != "", RecordPayloads: web.Posted(c, "recordPayloads") != "",
	}
}

func settingsOf(stored, entered views.ProjectForm) []frame.Entry {
	return []frame.Entry{
		frame.NewEntry("Name", stored.Name, entered.Name), frame.NewEntry("Description", stored.Description, entered.Description),
		frame.NewEntry("Who may connect", stored.AuthMode, entered.AuthMode), frame.NewEntry("Of the people who sign in", stored.OAuthAccess, entered.OAuthAccess),
		frame.NewEntry("Tools in lists", stored.ToolExposure, entered.ToolExposure), frame.NewEntry("Longest tool name", stored.ToolNameLimit, entered.ToolNameLimit),
		frame.NewEntry("Calls per key and second", stored.PerSecond, entered.PerSecond), frame.NewEntry("At once", stored.Burst, entered.Burst),
		frame.NewEntry("Record arguments and answers", views.OnOff(stored.RecordPayloads), views.OnOff(entered.RecordPayloads)),
	}
}

// declarationOf returns the settings of a form, or what is wrong with its
// name and numbers; the store judges the rest.
func declarationOf(f views.ProjectForm) (*declaration.Project, error) {
	wrong := map[string]string{}
	if f.Name == "" {
		wrong["name"] = "give the project a name"
	}
	whole := func(field, text string) *int64 {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			wrong[field] = "use a whole number"
		}
		return &n
	}
	rate, err := strconv.ParseFloat(strings.TrimSpace(f.PerSecond), 64)
	if err != nil || math.IsNaN(rate) || math.IsInf(rate, 0) {
		wrong["rateLimit.perSecond"] = "use a number"
	}
	d := &declaration.Project{
		Name: &f.Name, Description: &f.Description, AuthMode: new(models.AuthMode(f.AuthMode)), OAuthAccess: new(models.OAuthAccess(f.OAuthAccess)),
		ToolExposure: new(models.ToolExposure(f.ToolExposure)), ToolNameLimit: whole("toolNameLimit", f.ToolNameLimit),
		RatePerSecond: &rate, RateBurst: whole("rateLimit.burst", f.Burst), RecordPayloads: &f.RecordPayloads,
	}
	if len(wrong) > 0 {
		return nil, fault.Validation(wrong)
	}
	return d, nil
}

// Delete serves POST …/settings/delete. The slug has to be typed.
func (a *Settings) Delete(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	if strings.TrimSpace(web.Posted(c, "confirm")) != p.Project.Slug {
		c.Status(fiber.StatusUnprocessableEntity)
		return a.page(c, p, views.ProjectSettingsProps{Form: formOf(p), DeleteError: "Type " + p.Project.Slug + " exactly."}, nil)
	}
	if err := a.store.DeleteProject(c.UserContext(), p.Project.Slug); err != nil && !fault.Is(err, fault.CodeNotFound) {
		return frame.Failed(c, paths.ProjectSettings(p.Project.Slug), err)
	}
	return frame.Done(c, paths.Home, "The project "+p.Project.Slug+" is deleted.")
}

// AddMember serves POST …/settings/members.
func (a *Settings) AddMember(c *fiber.Ctx) error {
	return a.member(c, a.people.AddMember, "The member is added.")
}

// RemoveMember serves POST …/settings/members/remove.
func (a *Settings) RemoveMember(c *fiber.Ctx) error {
	return a.member(c, a.people.RemoveMember, "The member is removed.")
}

func (a *Settings) member(c *fiber.Ctx, change func(ctx context.Context, projectID, userID string) error, done string) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	if err := change(c.UserContext(), p.Project.ID, web.Posted(c, "person")); err != nil {
		return frame.Failed(c, paths.ProjectSettings(p.Project.Slug), err)
	}
	return frame.Done(c, paths.ProjectSettings(p.Project.Slug), done)
}

func rowsOf(servers []*toolset.Server) []models.Server {
	rows := make([]models.Server, 0, len(servers))
	for _, s := range servers {
		rows = append(rows, s.Config)
	}
	return rows
}

// credentialsOf returns the aliases of the servers of a project that calls
// carry credentials to.
func credentialsOf(p *toolset.Snapshot) []string {
	open := p.Project
	open.AuthMode = models.AuthNone
	shared, _ := projects.Shared(open, rowsOf(p.Servers))
	return shared.Servers
}
