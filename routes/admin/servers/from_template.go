package servers

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Template serves GET /admin/templates/:slug/use: the form, or for the parameter
// project what is left to set up in the project that the form created.
func (a *FromCatalog) Template(c *fiber.Ctx) error {
	t, err := a.catalog.Template(c.Params("slug"))
	if err != nil {
		return err
	}
	if p, err := a.pages.Directory.Project(c.Query("project")); err == nil {
		return a.resultPage(c, t, p)
	}
	return a.templatePage(c, t, views.TemplateUseProps{Name: t.Title}, nil)
}

// templateFrame returns the frame of a page about the use of a template.
func (a *FromCatalog) templateFrame(c *fiber.Ctx, t *models.CatalogTemplate) layout.Frame {
	title := ui.Clean(t.Title)
	f := a.pages.Frame(c, "Use "+title, layout.SectionTemplates)
	f.Crumbs = []layout.Crumb{{Label: "Catalog", URL: paths.Registry}, {Label: "Templates", URL: paths.Templates}, {Label: title, URL: paths.Template(t.Slug)}, {Label: "Use"}}
	return f
}

// templatePage renders the form. failed is the error of a rejected project, or nil.
func (a *FromCatalog) templatePage(c *fiber.Ctx, t *models.CatalogTemplate, props views.TemplateUseProps, failed error) (err error) {
	if props.Errors, err = frame.Fields(c, failed); err != nil {
		return err
	}
	props.Frame = a.templateFrame(c, t)
	props.Slug, props.Title = t.Slug, t.Title
	for _, e := range a.catalog.RelatedEntries(t) {
		props.Servers = append(props.Servers, views.TemplateServer{Name: e.ServerName, Title: e.ServerTitle, Refused: notRemote(e)})
	}
	return web.Render(c, views.TemplateUse(props))
}

// Use serves POST /admin/templates/:slug/use. It creates a project with the servers
// of a template.
func (a *FromCatalog) Use(c *fiber.Ctx) error {
	t, err := a.catalog.Template(c.Params("slug"))
	if err != nil {
		return err
	}
	props := views.TemplateUseProps{Name: cmp.Or(strings.TrimSpace(web.FormValue(c, "name")), t.Title), ProjectSlug: strings.TrimSpace(web.FormValue(c, "projectSlug"))}
	slug := cmp.Or(props.ProjectSlug, projects.FreeSlug(a.isProject, props.Name, t.Slug))
	d := projects.FromTemplate(t, props.Name, a.catalog.RelatedEntries(t))
	if _, err := a.store.CreateProject(c.UserContext(), slug, d); err != nil {
		return a.templatePage(c, t, props, err)
	}
	return c.Redirect(paths.UseTemplate(t.Slug)+"?"+url.Values{"project": {slug}}.Encode(), fiber.StatusSeeOther)
}

// resultPage renders the servers of a project with what is left to do for each.
func (a *FromCatalog) resultPage(c *fiber.Ctx, t *models.CatalogTemplate, p *toolset.Snapshot) error {
	props := views.TemplateResultProps{Frame: a.templateFrame(c, t), Name: ui.Clean(cmp.Or(p.Project.Name, p.Project.Slug)), Slug: p.Project.Slug}
	for _, server := range p.Servers {
		props.Servers = append(props.Servers, a.setUp(p, server))
	}
	return web.Render(c, views.TemplateResult(props))
}

// setUp returns a server with the step that is left to set it up.
func (a *FromCatalog) setUp(p *toolset.Snapshot, server *toolset.Server) views.ServerSetUp {
	config := server.Config
	state, _ := a.pages.Health.StateOf(server)
	s := views.ServerSetUp{Alias: config.Alias, URL: paths.Server(p.Project.Slug, config.ID), State: state}
	switch missing := missingHeaders(config); {
	case state.Kind == views.StateUnconnected, state.Kind == views.StateReconnect:
		s.Step, s.StepURL = "Connect", paths.StartConnection(config.ID)
	case state.Kind == views.StateNoToken, len(missing) > 0:
		s.Step, s.StepURL = "Enter key", paths.ServerEdit(p.Project.Slug, config.ID)
		s.State = views.StateOf(views.StateNoToken)
	}
	return s
}
