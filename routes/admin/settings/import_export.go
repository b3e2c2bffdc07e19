package settings

import (
	"context"
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/secrets"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// importPurpose distinguishes sealed files from other sealed tokens.
const importPurpose = "declarative file that is being imported"

// maxImport is the maximum size of a file in bytes. The file is posted back sealed,
// which is a third larger and must fit into a request body.
const maxImport = 600 << 10

// ImportExport serves the import and the export of declarative files.
type ImportExport struct {
	pages *frame.Pages
	store *projects.Store
	seal  *secrets.KeyRing
}

// NewImportExport returns the handlers.
func NewImportExport(pages *frame.Pages, store *projects.Store, seal *secrets.KeyRing) *ImportExport {
	return &ImportExport{pages: pages, store: store, seal: seal}
}

// Import serves GET /admin/import.
func (a *ImportExport) Import(c *fiber.Ctx) error { return a.importPage(c, views.ImportProps{}, nil) }

// importPage renders the form. failed is the error of a rejected file, or nil.
func (a *ImportExport) importPage(c *fiber.Ctx, props views.ImportProps, failed error) (err error) {
	if props.Problems, err = frame.Fields(c, failed); err != nil {
		return err
	}
	props.Frame = a.pages.Frame(c, "Import", layout.SectionProjects)
	return web.Render(c, views.Import(props))
}

// Plan serves POST /admin/import. It renders the changes that a chosen or pasted
// file would make.
func (a *ImportExport) Plan(c *fiber.Ctx) error {
	props := views.ImportProps{Prune: web.FormValue(c, "prune") != ""}
	text, err := importedFile(c)
	var plan projects.Plan
	var d *declaration.File
	if err == nil {
		plan, d, err = a.apply(c.UserContext(), text, projects.ApplyOptions{Prune: props.Prune, DryRun: true})
	}
	if err != nil {
		if props.Lost = secrets.MayHold(text); !props.Lost {
			props.Text = text
		}
		return a.importPage(c, props, err)
	}
	props.Plan = planOf(plan, d)
	props.Plan.Sealed = a.seal.SealToken(importPurpose, []byte(text))
	return a.importPage(c, props, nil)
}

// planOf converts a plan for its page.
func planOf(plan projects.Plan, d *declaration.File) *views.ImportPlan {
	shown := &views.ImportPlan{Notes: plan.Notes, Refused: d.Refused}
	for _, shared := range plan.Shared {
		shown.Warnings = append(shown.Warnings, shared.String())
	}
	for _, missing := range plan.Missing {
		shown.Missing = append(shown.Missing, missingName(missing))
	}
	for _, change := range plan.Changes {
		if change.Action == projects.ActionKeep {
			shown.Kept++
			continue
		}
		shown.Changes = append(shown.Changes, views.ImportChange{
			Action: string(change.Action), Project: change.Project, Server: change.Server, Toolset: change.Toolset, Recipe: change.Recipe, Group: change.Group, Fields: change.Fields,
		})
	}
	return shown
}

// importedFile returns the chosen or pasted file.
func importedFile(c *fiber.Ctx) (string, error) {
	pasted := web.FormValue(c, "declaration")
	file, err := web.PostedFile(c, "file", maxImport+1)
	switch {
	case err != nil:
		return "", fault.Internal(err)
	case len(file) == 0 && strings.TrimSpace(pasted) == "":
		return "", fault.Validation(map[string]string{"": "Choose a file or paste JSON."})
	case len(file) > 0 && strings.TrimSpace(pasted) != "":
		return pasted, fault.Validation(map[string]string{"": "Choose a file or paste JSON, not both."})
	case len(file) > 0:
		return string(file), nil
	}
	return pasted, nil
}

func (a *ImportExport) apply(ctx context.Context, text string, opts projects.ApplyOptions) (projects.Plan, *declaration.File, error) {
	if len(text) > maxImport {
		return projects.Plan{}, nil, fault.Validation(map[string]string{"": fmt.Sprintf("The file is larger than %d KiB. Use gateway apply instead.", maxImport>>10)})
	}
	d, err := declaration.ParseImport([]byte(text))
	if err != nil {
		return projects.Plan{}, nil, err
	}
	plan, err := a.store.Import(ctx, d, opts)
	return plan, d, err
}

// Apply serves POST /admin/import/apply. It applies the shown plan.
func (a *ImportExport) Apply(c *fiber.Ctx) error {
	text, err := a.seal.OpenToken(importPurpose, web.FormValue(c, "sealed"))
	if err != nil {
		return frame.Failed(c, paths.Import, fault.Invalid("The import has expired. Choose or paste the file again."))
	}
	plan, _, err := a.apply(c.UserContext(), string(text), projects.ApplyOptions{Prune: web.FormValue(c, "prune") != ""})
	if err != nil {
		return frame.Failed(c, paths.Import, err)
	}
	return frame.Done(c, paths.Home, planWords(plan))
}

// planWords describes the result of an import.
func planWords(plan projects.Plan) string {
	counts := map[projects.Action]int{}
	for _, change := range plan.Changes {
		counts[change.Action]++
	}
	var parts []string
	for _, part := range []struct {
		action projects.Action
		word   string
	}{{projects.ActionCreate, "created"}, {projects.ActionUpdate, "changed"}, {projects.ActionDelete, "deleted"}} {
		if counts[part.action] > 0 {
			parts = append(parts, ui.Count(counts[part.action])+" "+part.word)
		}
	}
	if len(parts) == 0 {
		return "Nothing changed." + missingWords(plan.Missing)
	}
	return "Imported: " + strings.Join(parts, ", ") + "." + missingWords(plan.Missing)
}

// missingListed is the maximum number of missing secrets that a message names.
const missingListed = 5

// missingWords returns the sentence about missing secrets, or "".
func missingWords(missing []projects.MissingSecret) string {
	if len(missing) == 0 {
		return ""
	}
	names := make([]string, 0, missingListed)
	for _, m := range missing[:min(len(missing), missingListed)] {
		names = append(names, missingName(m))
	}
	text := " Set the missing secrets: " + strings.Join(names, ", ")
	if more := len(missing) - len(names); more > 0 {
		text += " and " + ui.Count(more) + " more"
	}
	return text + "."
}

// missingName names a missing secret by project, server and field.
func missingName(m projects.MissingSecret) string {
	return m.Project + " / " + m.Server + " / " + m.Field
}

// Export serves GET /admin/export.
func (a *ImportExport) Export(c *fiber.Ctx) error {
	rows, err := a.store.Projects(c.UserContext())
	if err != nil {
		return err
	}
	props := views.ExportProps{Frame: a.pages.Frame(c, "Export", layout.SectionProjects)}
	for _, row := range rows {
		label := row.Slug
		if row.Name != "" && row.Name != row.Slug {
			label = ui.Clean(row.Name) + " (" + row.Slug + ")"
		}
		props.Projects = append(props.Projects, ui.Option{Value: row.Slug, Label: label})
	}
	return web.Render(c, views.Export(props))
}

// Download serves GET /admin/export/download: the file of ?project=, or of all.
func (a *ImportExport) Download(c *fiber.Ctx) error {
	slug := c.Query("project")
	file, err := a.store.Export(c.UserContext(), slug)
	if err != nil {
		return err
	}
	name := "gateway.json"
	if slug != "" {
		name = slug + ".json"
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="`+name+`"`)
	return c.Send(file)
}
