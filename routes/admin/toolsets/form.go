package toolsets

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/declaration"
	"mcpgateway/services/projects/toolsets"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/toolsets"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// posted returns the posted form.
func posted(c *fiber.Ctx) views.Form {
	return views.Form{
		Name: strings.TrimSpace(web.FormValue(c, "name")), Slug: strings.TrimSpace(web.FormValue(c, "slug")), Description: strings.TrimSpace(web.FormValue(c, "description")),
		Query: strings.TrimSpace(web.FormValue(c, "query")), Include: web.FormValue(c, "include"), Exclude: web.FormValue(c, "exclude"),
		OffersOf: frame.PostedAll(c, "offersOf"), ToolExposure: web.FormValue(c, "toolExposure"),
	}
}

// formOf returns the form of a stored toolset.
func formOf(row *models.Toolset) views.Form {
	return views.Form{
		Name: row.Name, Slug: row.Slug, Description: row.Description, Query: row.Query,
		Include: strings.Join(row.Include, "\n"), Exclude: strings.Join(row.Exclude, "\n"), OffersOf: row.OffersOf, ToolExposure: string(row.ToolExposure),
	}
}

// declared returns the toolset that a form describes. The store validates it.
func declared(f views.Form) *declaration.Toolset {
	include, exclude, offers := lines(f.Include), lines(f.Exclude), append([]string{}, f.OffersOf...)
	return &declaration.Toolset{
		Name: &f.Name, Description: &f.Description, Query: &f.Query, Include: &include, Exclude: &exclude, OffersOf: &offers,
		ToolExposure: new(models.ToolExposure(f.ToolExposure)),
	}
}

// lines returns the non-empty lines of a text.
func lines(text string) []string {
	all := []string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// entries are the fields of a form, for the message about a concurrent change.
func entries(stored, entered views.Form) []frame.Entry {
	list := func(text string) string { return strings.Join(lines(text), ", ") }
	return []frame.Entry{
		frame.NewEntry("Name", stored.Name, entered.Name), frame.NewEntry("Description", stored.Description, entered.Description), frame.NewEntry("Query", stored.Query, entered.Query),
		frame.NewEntry("Also include", list(stored.Include), list(entered.Include)), frame.NewEntry("Never include", list(stored.Exclude), list(entered.Exclude)),
		frame.NewEntry("Prompts and resources", strings.Join(stored.OffersOf, ", "), strings.Join(entered.OffersOf, ", ")),
		frame.NewEntry("What clients list", stored.ToolExposure, entered.ToolExposure),
	}
}

// Preview serves POST …/toolsets/new/preview and …/toolsets/:id/preview: the form
// with the tools of its entries. It stores nothing.
func (a *Toolsets) Preview(c *fiber.Ctx) error {
	props := views.FormProps{Form: posted(c), Seen: web.FormValue(c, frame.FingerprintField)}
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	if c.Params("id") != "" {
		_, row, err := a.toolset(c)
		if err != nil {
			return err
		}
		props.ID, props.Form.Slug = row.ID, row.Slug
	}
	return a.form(c, p, props, nil)
}

// form renders the form of a toolset with its preview. failed is the error of a
// rejected form, or nil.
func (a *Toolsets) form(c *fiber.Ctx, p *toolset.Snapshot, props views.FormProps, failed error) (err error) {
	row, invalid := toolsets.Draft(declared(props.Form))
	shown := failed
	if shown == nil {
		shown = invalid
	}
	if props.Errors, err = frame.Fields(c, shown); err != nil {
		return err
	}
	if failed == nil {
		c.Status(fiber.StatusOK) // a preview rejects nothing
	}
	props.Project, props.Servers = p.Project.Slug, choices(p, props.Form.OffersOf)
	if invalid != nil {
		props.Preview = views.Preview{Slug: p.Project.Slug, Invalid: true}
	} else {
		props.Preview = previewOf(p, &row)
	}
	title, crumbs := "New toolset", []layout.Crumb{{Label: "New toolset"}}
	if !props.New() {
		title = ui.Clean(props.Form.Slug) + ": edit"
		crumbs = []layout.Crumb{{Label: ui.Clean(props.Form.Slug), URL: paths.Toolset(p.Project.Slug, props.ID)}, {Label: "Edit"}}
	}
	props.Frame = a.pages.ProjectFrame(c, p, layout.TabToolsets, title, crumbs...)
	return web.Render(c, views.Edit(props))
}

// choices returns the servers whose prompts and resources can be included:
// those with any, and the chosen ones.
func choices(p *toolset.Snapshot, chosen []string) []views.Choice {
	all := []views.Choice{{Alias: declaration.AllServers, Hint: "Also of servers that join later.", Checked: slices.Contains(chosen, declaration.AllServers)}}
	known := map[string]bool{declaration.AllServers: true}
	for _, server := range p.Servers {
		alias := server.Config.Alias
		prompts, resources := p.Offers.Of(alias)
		checked := slices.Contains(chosen, alias)
		if known[alias] = true; prompts+resources == 0 && !checked {
			continue
		}
		all = append(all, views.Choice{Alias: alias, Hint: views.Offer{Prompts: prompts, Resources: resources}.Words(), Checked: checked})
	}
	for _, alias := range chosen {
		if !known[alias] {
			known[alias] = true
			all = append(all, views.Choice{Alias: alias, Hint: "No server of this project has this alias.", Checked: true})
		}
	}
	return all
}
