package projects

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"mcpgateway/services/access/keys"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// Settings serves the settings of projects.
type Settings struct {
	pages  *admin.ProjectPages
	store  *projects.Store
	keys   *keys.Store
	used   Used
	people People
}

// NewSettings returns the handlers.
func NewSettings(pages *admin.ProjectPages, store *projects.Store, keys *keys.Store, used Used, people People) *Settings {
	return &Settings{pages: pages, store: store, keys: keys, used: used, people: people}
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
		Name: row.Name, Description: row.Description, AuthMode: string(row.AuthMode),
		ToolExposure: string(row.ToolExposure), ToolNameLimit: strconv.Itoa(row.ToolNameLimit),
		PerSecond: strconv.FormatFloat(row.RatePerSecond, 'f', -1, 64), Burst: strconv.Itoa(row.RateBurst), Limits: limitsOf(row), RecordPayloads: row.RecordPayloads,
		Calls: strconv.Itoa(row.RetentionCalls), Payloads: strconv.Itoa(row.RetentionPayloads), Runs: strconv.Itoa(row.RetentionRuns),
		SecretRefs: strings.Join(row.SecretRefs, "\n"),
		ToolNames:  string(row.ToolNames), Instructions: row.Instructions, Icon: row.Icon, WebsiteURL: row.WebsiteURL,
		ValidateArguments: row.ValidateArguments, ResultLimit: strconv.FormatInt(row.ResultLimit, 10), ServerCard: row.ServerCard, Published: row.Published,
	}
}

// page renders the settings. failed is the error of a rejected save, or nil.
func (a *Settings) page(c *fiber.Ctx, p *toolset.Snapshot, props views.ProjectSettingsProps, failed error) (err error) {
	if props.Errors, err = frame.Fields(c, failed); err != nil {
		return err
	}
	keys, err := a.keys.List(c.UserContext(), p.Project.ID)
	if err != nil {
		return err
	}
	if props.Used, err = a.usedToday(c.UserContext(), p, keys); err != nil {
		return err
	}
	props.MaxLimits = declaration.MaxLimits
	props.Frame, props.Project = a.pages.ProjectFrame(c, p, layout.TabSettings, "Settings"), a.pages.Head(p, layout.TabSettings)
	if err := a.pages.WarnOlder(c, &props.Frame, "Limits for tools"); err != nil {
		return err
	}
	props.Stored, props.Seen = formOf(p), frame.Fingerprint(formOf(p))
	props.Shared, props.Servers, props.Keys = credentialsOf(p), len(p.Servers), len(keys)
	return web.Render(c, views.ProjectSettings(props))
}

// Save serves POST /admin/projects/:projectSlug/settings.
func (a *Settings) Save(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	form := postedForm(c, formOf(p))
	d, err := declarationOf(form)
	if form.Limits == nil { // a form without them
		form.Limits = limitsOf(p.Project)
	}
	err = cmp.Or(err, confirmed(p, form))
	leaveOut(c, d)
	if err == nil {
		err = frame.CheckUnchanged(c, formOf(p), settingsOf(formOf(p), form)...)
	}
	if err == nil {
		_, err = a.store.UpdateProject(c.UserContext(), p.Project.Slug, d)
	}
	if err != nil {
		return a.page(c, p, views.ProjectSettingsProps{Form: form}, err)
	}
	return frame.Done(c, paths.ProjectSettings(p.Project.Slug), "Settings saved.")
}

// confirmed returns a validation error if the change opens the project to everyone
// and sharing its credentials is not confirmed.
func confirmed(p *toolset.Snapshot, form views.ProjectForm) error {
	opens := form.AuthMode == string(models.AuthNone) && p.Project.AuthMode != models.AuthNone
	if opens && !form.Understood && len(credentialsOf(p)) > 0 {
		return fault.Validation(map[string]string{"understood": "confirm this to continue"})
	}
	return nil
}

// postedForm returns the posted form. The fields that maintainers don't have keep
// their stored values.
func postedForm(c *fiber.Ctx, stored views.ProjectForm) views.ProjectForm {
	form := enteredForm(c)
	form.ToolNames = cmp.Or(form.ToolNames, stored.ToolNames)
	form.Calls, form.Payloads, form.Runs = cmp.Or(form.Calls, stored.Calls), cmp.Or(form.Payloads, stored.Payloads), cmp.Or(form.Runs, stored.Runs)
	form.ResultLimit = cmp.Or(form.ResultLimit, stored.ResultLimit)
	if reach.Of(c.UserContext()).AdministersAll() {
		return form
	}
	form.AuthMode, form.Understood = cmp.Or(form.AuthMode, stored.AuthMode), true
	form.PerSecond, form.Burst = cmp.Or(form.PerSecond, stored.PerSecond), cmp.Or(form.Burst, stored.Burst)
	if len(form.Limits) == 0 {
		form.Limits = stored.Limits
	}
	form.ServerCard, form.Published = form.ServerCard || stored.ServerCard, form.Published || stored.Published
	form.RecordPayloads, form.SecretRefs = form.RecordPayloads || stored.RecordPayloads, cmp.Or(form.SecretRefs, stored.SecretRefs)
	return form
}

// leaveOut removes the fields that the form of a maintainer doesn't have, unless
// they were posted anyway: the store refuses those.
func leaveOut(c *fiber.Ctx, d *declaration.Project) {
	if d == nil || reach.Of(c.UserContext()).AdministersAll() {
		return
	}
	sent := func(name string) bool { return c.Request().PostArgs().Has(name) }
	if !sent("authMode") {
		d.AuthMode = nil
	}
	if !sent("rateLimit.perSecond") {
		d.RatePerSecond = nil
	}
	if !sent("rateLimit.burst") {
		d.RateBurst = nil
	}
	if !sent("limits") {
		d.Limits = nil
	}
	if !sent("recordPayloads") {
		d.RecordPayloads = nil
	}
	for name, given := range map[string]**int64{"retention.calls": &d.Retention.Calls, "retention.payloads": &d.Retention.Payloads, "retention.runs": &d.Retention.Runs} {
		if !sent(name) {
			*given = nil
		}
	}
	if !sent("serverCard") {
		d.ServerCard = nil
	}
	if !sent("published") {
		d.Published = nil
	}
	if !sent("secretRefs") {
		d.SecretRefs = nil
	}
}

func enteredForm(c *fiber.Ctx) views.ProjectForm {
	return views.ProjectForm{
		Name: strings.TrimSpace(web.FormValue(c, "name")), Description: strings.TrimSpace(web.FormValue(c, "description")), AuthMode: web.FormValue(c, "authMode"),
		ToolExposure: web.FormValue(c, "toolExposure"), ToolNameLimit: web.FormValue(c, "toolNameLimit"),
		PerSecond: web.FormValue(c, "rateLimit.perSecond"), Burst: web.FormValue(c, "rateLimit.burst"), Limits: postedLimits(c), Understood: web.FormValue(c, "understood") != "", RecordPayloads: web.FormValue(c, "recordPayloads") != "",
		Calls: web.FormValue(c, "retention.calls"), Payloads: web.FormValue(c, "retention.payloads"), Runs: web.FormValue(c, "retention.runs"),
		SecretRefs: strings.Join(strings.Fields(web.FormValue(c, "secretRefs")), "\n"),
		ToolNames:  web.FormValue(c, "toolNames"), Instructions: strings.TrimSpace(strings.ReplaceAll(web.FormValue(c, "instructions"), "\r\n", "\n")),
		Icon: strings.TrimSpace(web.FormValue(c, "icon")), WebsiteURL: strings.TrimSpace(web.FormValue(c, "websiteUrl")),
		ValidateArguments: web.FormValue(c, "validateArguments") != "", ResultLimit: web.FormValue(c, "resultLimit"), ServerCard: web.FormValue(c, "serverCard") != "",
		Published: web.FormValue(c, "published") != "",
	}
}

func settingsOf(stored, entered views.ProjectForm) []frame.Entry {
	return []frame.Entry{
		frame.NewEntry("Name", stored.Name, entered.Name), frame.NewEntry("Description", stored.Description, entered.Description),
		frame.NewEntry("Clients sign in with", stored.AuthMode, entered.AuthMode),
		frame.NewEntry("What clients list", stored.ToolExposure, entered.ToolExposure), frame.NewEntry("Maximum tool name length", stored.ToolNameLimit, entered.ToolNameLimit),
		frame.NewEntry("Calls per second and key", stored.PerSecond, entered.PerSecond), frame.NewEntry("Burst", stored.Burst, entered.Burst),
		frame.NewEntry("Limits for tools", views.LimitWords(stored.Limits), views.LimitWords(entered.Limits)),
		frame.NewEntry("Record arguments and results", views.OnOff(stored.RecordPayloads), views.OnOff(entered.RecordPayloads)),
		frame.NewEntry("Days to keep calls", stored.Calls, entered.Calls), frame.NewEntry("Days to keep arguments and results", stored.Payloads, entered.Payloads),
		frame.NewEntry("Code Mode runs to keep", stored.Runs, entered.Runs),
		frame.NewEntry("Instructions for models", stored.Instructions, entered.Instructions), frame.NewEntry("Website", stored.WebsiteURL, entered.WebsiteURL),
		frame.NewEntry("Icon", stored.Icon, entered.Icon), frame.NewEntry("Server Card", views.OnOff(stored.ServerCard), views.OnOff(entered.ServerCard)),
		frame.NewEntry("In the catalog", views.OnOff(stored.Published), views.OnOff(entered.Published)),
		frame.NewEntry("Tool names", stored.ToolNames, entered.ToolNames),
		frame.NewEntry("Check arguments before calls", views.OnOff(stored.ValidateArguments), views.OnOff(entered.ValidateArguments)),
		frame.NewEntry("Maximum result (bytes)", stored.ResultLimit, entered.ResultLimit),
		frame.NewEntry("References for maintainers", stored.SecretRefs, entered.SecretRefs),
	}
}

// declarationOf converts the form to settings. It validates the name and the
// numbers; the store validates the rest.
func declarationOf(f views.ProjectForm) (*declaration.Project, error) {
	wrong := map[string]string{}
	if f.Name == "" {
		wrong["name"] = "enter a name"
	}
	whole := func(field, text string) *int64 {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			wrong[field] = "enter a whole number"
		}
		return &n
	}
	rate, err := strconv.ParseFloat(strings.TrimSpace(f.PerSecond), 64)
	if err != nil || math.IsNaN(rate) || math.IsInf(rate, 0) {
		wrong["rateLimit.perSecond"] = "enter a number"
	}
	d := &declaration.Project{
		Name: &f.Name, Description: &f.Description, AuthMode: new(models.AuthMode(f.AuthMode)),
		ToolExposure: new(models.ToolExposure(f.ToolExposure)), ToolNameLimit: whole("toolNameLimit", f.ToolNameLimit),
		RatePerSecond: &rate, RateBurst: whole("rateLimit.burst", f.Burst), Limits: declaredLimits(f.Limits, wrong), RecordPayloads: &f.RecordPayloads,
		Retention:  declaration.Retention{Calls: whole("retention.calls", f.Calls), Payloads: whole("retention.payloads", f.Payloads), Runs: whole("retention.runs", f.Runs)},
		SecretRefs: new(strings.Fields(f.SecretRefs)),
		ToolNames:  new(models.ToolNames(f.ToolNames)), ValidateArguments: &f.ValidateArguments, ResultLimit: whole("resultLimit", f.ResultLimit),
		Identity: declaration.Identity{Instructions: &f.Instructions, Icon: &f.Icon, WebsiteURL: &f.WebsiteURL, ServerCard: &f.ServerCard, Published: &f.Published},
	}
	if len(wrong) > 0 {
		return nil, fault.Validation(wrong)
	}
	return d, nil
}

// Delete serves POST …/settings/delete. The user must type the slug to confirm.
func (a *Settings) Delete(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	if strings.TrimSpace(web.FormValue(c, "confirm")) != p.Project.Slug {
		c.Status(fiber.StatusUnprocessableEntity)
		return a.page(c, p, views.ProjectSettingsProps{Form: formOf(p), DeleteError: "Type " + p.Project.Slug + " exactly."}, nil)
	}
	if err := a.store.DeleteProject(c.UserContext(), p.Project.Slug); err != nil && !fault.Is(err, fault.CodeNotFound) {
		return frame.Failed(c, paths.ProjectSettings(p.Project.Slug), err)
	}
	return frame.Done(c, paths.Home, "Project "+p.Project.Slug+" deleted.")
}

func rowsOf(servers []*toolset.Server) []models.Server {
	rows := make([]models.Server, 0, len(servers))
	for _, s := range servers {
		rows = append(rows, s.Config)
	}
	return rows
}

// credentialsOf returns the aliases of a project's servers whose credentials every
// caller could use if the project were open.
func credentialsOf(p *toolset.Snapshot) []string {
	open := p.Project
	open.AuthMode = models.AuthNone
	shared, _ := projects.Shared(open, rowsOf(p.Servers))
	return shared.Servers
}
