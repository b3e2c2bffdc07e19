package toolsets

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/services/projects/toolsets"
	"mcpgateway/services/query"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolset"
	gate "mcpgateway/services/toolset/views"
	views "mcpgateway/views/admin/toolsets"
	"mcpgateway/views/install"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// toolsListed is the maximum number of tools in a preview.
const toolsListed = 100

// Show serves GET /admin/projects/:projectSlug/toolsets/:id.
func (a *Toolsets) Show(c *fiber.Ctx) error {
	p, row, err := a.toolset(c)
	if err != nil {
		return err
	}
	return a.page(c, p, row, "")
}

// page renders a toolset. deleteError is the error of a rejected deletion.
func (a *Toolsets) page(c *fiber.Ctx, p *toolset.Snapshot, row *models.Toolset, deleteError string) error {
	use, err := a.store.Use(c.UserContext(), row.ID)
	if err != nil {
		return err
	}
	moved, err := a.store.Moved(c.UserContext(), p.Project.Slug, []models.Toolset{*row})
	if err != nil {
		return err
	}
	base := a.endpoint(p, row.Slug)
	props := views.PageProps{
		Frame:   a.pages.ProjectFrame(c, p, layout.TabToolsets, ui.Clean(row.Name), layout.Crumb{Label: ui.Clean(row.Name)}),
		Project: p.Project.Slug, ID: row.ID, Slug: row.Slug, Name: row.Name, Description: row.Description, Now: a.now(),
		Endpoint: base.JoinPath("request").String(), Stream: base.JoinPath("sse").String(),
		Rule: ruleOf(row), Preview: previewOf(p, row), Use: useOf(use), UsesKeys: p.Project.AuthMode == models.AuthAPIKey, DeleteError: deleteError,
	}
	if m, ok := moved[row.ID]; ok {
		props.Moved = &views.Moved{At: m.At, Server: m.Server, Joined: m.In, Left: m.Out, JoinedTools: m.Joined, LeftTools: m.Left}
	}
	props.Snippets = remote(p, row, props.Endpoint).Tabs()
	admin.ChooseClient(c, props.Snippets)
	return web.Render(c, views.Page(props))
}

// remote returns the endpoint of a toolset for client snippets.
func remote(p *toolset.Snapshot, row *models.Toolset, endpoint string) install.Remote {
	r := install.Remote{Name: p.Project.Slug + "-" + row.Slug, URL: endpoint, OAuth: p.Project.AuthMode == models.AuthOAuth}
	if p.Project.AuthMode == models.AuthAPIKey {
		r.Key = "Bearer API_KEY"
	}
	return r
}

// ruleOf describes how the tools of a toolset are selected.
func ruleOf(row *models.Toolset) []ui.Fact {
	list := func(items []string) string { return ui.Clean(cmp.Or(strings.Join(items, ", "), "None")) }
	exposure := map[models.ToolExposure]string{"": "As in the project", models.ExposeFull: "All tools", models.ExposeBuiltin: "Only the built-in tools"}[row.ToolExposure]
	return []ui.Fact{
		{Label: "Query", Value: ui.Clean(cmp.Or(row.Query, "None")), Mono: row.Query != ""},
		{Label: "Also included", Value: list(row.Include), Mono: len(row.Include) > 0},
		{Label: "Never included", Value: list(row.Exclude), Mono: len(row.Exclude) > 0},
		{Label: "Prompts and resources of", Value: strings.ReplaceAll(list(row.OffersOf), "*", "every server with a tool in it")},
		{Label: "What clients list", Value: exposure},
	}
}

func useOf(use toolsets.Use) views.Use {
	u := views.Use{Groups: use.Groups, Apps: use.Apps}
	for _, key := range use.Keys {
		u.Keys = append(u.Keys, views.UsedKey{ID: key.ID, Name: key.Called(), Ends: key.Ends})
	}
	for _, person := range use.People {
		u.People = append(u.People, cmp.Or(person.Name, person.Email))
	}
	return u
}

// previewOf returns the tools that a toolset has now, stored or not.
func previewOf(p *toolset.Snapshot, row *models.Toolset) views.Preview {
	view := gate.Preview(p, row)
	tools := view.AllTools()
	shown := views.Preview{
		Slug: p.Project.Slug, Total: len(p.AllTools()), Count: len(tools), Hidden: len(tools) - len(view.Tools),
		Nothing: row.Query == "" && len(row.Include) == 0, ReadOnly: usesAnnotations(row.Query),
	}
	for _, w := range gate.Warnings(p, row) {
		shown.Warnings = append(shown.Warnings, w.Message)
	}
	for _, t := range tools[:min(len(tools), toolsListed)] {
		shown.Tools = append(shown.Tools, views.Tool{
			Name: t.FullName, Server: t.Server.Config.Alias, Title: titleOf(t), Hidden: string(t.Hidden), ReadOnly: t.Hints.ReadOnly, Destroys: t.Access == toolset.AccessDestructive,
		})
	}
	for _, server := range view.Servers {
		alias := server.Config.Alias
		if prompts, resources := p.Offers.Of(alias); prompts+resources > 0 {
			included := slices.Contains(row.OffersOf, alias) || slices.Contains(row.OffersOf, "*") && slices.ContainsFunc(tools, func(t *toolset.Tool) bool { return t.Server.Config.Alias == alias })
			shown.Offers = append(shown.Offers, views.Offer{Alias: alias, Prompts: prompts, Resources: resources, Included: included})
		}
	}
	return shown
}

// titleOf returns the title of a tool, or "" if it is its name.
func titleOf(t *toolset.Tool) string {
	if title := toolsearch.TitleOf(t); title != t.Upstream {
		return title
	}
	return ""
}

// usesAnnotations reports whether a query relies on what servers say of their
// tools.
func usesAnnotations(text string) bool {
	parsed, err := query.Toolsets().Parse(text)
	return err == nil && slices.ContainsFunc(parsed.Clauses, func(c query.Clause) bool { return c.Qualifier == "readonly" || c.Qualifier == "destructive" })
}
