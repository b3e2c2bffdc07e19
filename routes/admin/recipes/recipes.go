// Package recipes serves the recipes of a project: saved code that is a tool, its
// versions, and the recipes that clients propose.
package recipes

import (
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/admin/observe"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/codemode"
	"mcpgateway/services/projects"
	"mcpgateway/services/projects/toolstate"
	"mcpgateway/services/recipes"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/recipes"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Options holds the dependencies of the pages. All are required.
type Options struct {
	Pages  *admin.ProjectPages
	Store  *recipes.Store
	Tools  *toolstate.Store
	Traces *codemode.Traces
	Keys   *keys.Store
	People *access.Users
	Now    func() time.Time
}

// Pages serves the recipes of a project.
type Pages struct{ Options }

// New returns the handlers.
func New(o Options) *Pages { return &Pages{o} }

// frame returns the frame of a page below the list of recipes.
func (a *Pages) frame(c *fiber.Ctx, p *toolset.Snapshot, title string, crumbs ...layout.Crumb) layout.Frame {
	all := append([]layout.Crumb{{Label: "Recipes", URL: paths.Recipes(p.Project.Slug)}}, crumbs...)
	return a.Pages.ProjectFrame(c, p, layout.TabCodeMode, title, all...)
}

// List serves GET /admin/projects/:projectSlug/code-mode/recipes.
func (a *Pages) List(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	rows, err := a.Store.List(c.UserContext(), p.Project.ID)
	if err != nil {
		return err
	}
	proposals, err := a.Store.Proposals(c.UserContext(), p.Project.ID)
	if err != nil {
		return err
	}
	props := views.ListProps{Frame: a.frame(c, p, "Recipes"), Slug: p.Project.Slug, On: p.Project.CodeModeEnabled, Taken: !p.HasRecipes(), Now: a.Now()}
	for i := range rows {
		props.Rows = append(props.Rows, rowOf(p, &rows[i]))
	}
	names := observe.NewCallers(a.Keys, a.People)
	for _, row := range proposals {
		props.Proposals = append(props.Proposals, views.ProposalRow{ID: row.ID, Name: row.Name, Description: row.Description, By: names.Of(c.UserContext(), row.Principal), At: row.CreatedAt})
	}
	return web.Render(c, views.List(props))
}

func rowOf(p *toolset.Snapshot, row *models.Recipe) views.Row {
	return views.Row{
		ID: row.ID, Name: row.Name, Description: row.Description, Effect: string(row.Effect), Version: row.Version, UpdatedAt: row.UpdatedAt,
		On: recipes.IsOn(p, row.Name), Missing: len(recipes.Missing(p, row)),
	}
}

// recipe returns the recipe that the URL names, and its project.
func (a *Pages) recipe(c *fiber.Ctx) (*toolset.Snapshot, models.Recipe, error) {
	p, err := a.Pages.Project(c)
	if err != nil {
		return nil, models.Recipe{}, err
	}
	row, err := a.Store.Get(c.UserContext(), p.Project.ID, c.Params("id"))
	return p, row, err
}

// Show serves GET …/recipes/:id.
func (a *Pages) Show(c *fiber.Ctx) error {
	p, row, err := a.recipe(c)
	if err != nil {
		return err
	}
	versions, err := a.Store.Versions(c.UserContext(), row.ID)
	if err != nil {
		return err
	}
	export, err := projects.ExportRecipe(p.Project.Slug, &row)
	if err != nil {
		return err
	}
	props := views.PageProps{
		Frame: a.frame(c, p, row.Name, layout.Crumb{Label: row.Name}), Project: p.Project.Slug, ID: row.ID, Name: row.Name, Tool: toolset.RecipeName(row.Name), Now: a.Now(),
		Code: row.Code, Schema: []byte(row.InputSchema), Row: rowOf(p, &row), CodeMode: p.Project.CodeModeEnabled, Tools: toolsOf(p, row.Tools), Export: export,
		Call: `await gateway.run("` + row.Name + `"` + exampleOf(row.InputSchema) + `);`,
	}
	for _, v := range versions {
		shown := views.Version{Number: v.Version, At: v.SavedAt, By: v.SavedBy, Current: v.Version == row.Version}
		if !shown.Current {
			shown.Changes = changesOf(v.Code, row.Code)
		}
		props.Versions = append(props.Versions, shown)
	}
	return web.Render(c, views.Page(props))
}

// toolsOf returns the tools of a recipe with their pages.
func toolsOf(p *toolset.Snapshot, names []string) []views.Tool {
	missing := map[string]bool{}
	for _, name := range recipes.Missing(p, &models.Recipe{Tools: names}) {
		missing[name] = true
	}
	tools := make([]views.Tool, len(names))
	for i, name := range names {
		tools[i] = views.Tool{Name: name, URL: paths.Tool(p.Project.Slug, name), Missing: missing[name]}
	}
	return tools
}

// changesOf returns the changed lines between two texts with those around them. It
// is nil for equal texts and for texts that are too long to compare.
func changesOf(before, after string) []ui.DiffLine {
	if before == after {
		return nil
	}
	lines, ok := toolset.DiffTexts(before, after)
	if !ok {
		return nil
	}
	shown := make([]ui.DiffLine, len(lines))
	for i, l := range lines {
		shown[i] = ui.DiffLine{Op: l.Op, Text: l.Text}
	}
	return ui.Hunks(shown, 3)
}

// Switch serves POST …/recipes/:id/switch: it turns the tool of the recipe on or off.
func (a *Pages) Switch(c *fiber.Ctx) error {
	p, row, err := a.recipe(c)
	if err != nil {
		return err
	}
	to, on := paths.Recipe(p.Project.Slug, row.ID), web.FormValue(c, "enabled") == "true"
	if err := a.Tools.SetTool(c.UserContext(), p.Project.Slug, toolset.RecipeName(row.Name), &on, nil); err != nil {
		return frame.Failed(c, to, err)
	}
	if on {
		return frame.Done(c, to, "Recipe turned on.")
	}
	return frame.Done(c, to, "Recipe turned off. Clients don't see it.")
}

// Restore serves POST …/recipes/:id/restore: it saves an earlier version as the
// next one.
func (a *Pages) Restore(c *fiber.Ctx) error {
	p, row, err := a.recipe(c)
	if err != nil {
		return err
	}
	to := paths.Recipe(p.Project.Slug, row.ID)
	version, _ := strconv.ParseInt(web.FormValue(c, "version"), 10, 64) // versions start at 1
	restored, err := a.Store.Restore(c.UserContext(), p.Project.Slug, row.ID, version)
	if err != nil {
		return frame.Failed(c, to, err)
	}
	return frame.Done(c, to, "Version "+strconv.FormatInt(version, 10)+" restored as version "+strconv.FormatInt(restored.Version, 10)+".")
}

// Delete serves POST …/recipes/:id/delete.
func (a *Pages) Delete(c *fiber.Ctx) error {
	p, row, err := a.recipe(c)
	if err != nil {
		return err
	}
	if err := a.Store.Delete(c.UserContext(), p.Project.Slug, row.ID); err != nil {
		return frame.Failed(c, paths.Recipe(p.Project.Slug, row.ID), err)
	}
	return frame.Done(c, paths.Recipes(p.Project.Slug), "Recipe "+row.Name+" deleted.")
}
