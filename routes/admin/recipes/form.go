package recipes

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/codemode"
	"mcpgateway/services/declaration"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/recipes"
	"mcpgateway/services/schema"
	"mcpgateway/services/toolset"
	"mcpgateway/services/typescript"
	views "mcpgateway/views/admin/recipes"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// New serves GET …/recipes/new. ?run= fills in the code of a run, the schema of its
// input and the effect of its calls.
func (a *Pages) New(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	props := views.FormProps{Form: views.Form{Effect: string(models.RecipeWrites), InputSchema: indented(recipes.EmptySchema)}}
	if id := c.Query("run"); id != "" {
		row, err := a.Traces.Get(c.UserContext(), p.Project.ID, id)
		if err != nil {
			return err
		}
		var out codemode.Outcome
		if json.Unmarshal([]byte(row.Outcome), &out) != nil {
			out.Calls = []codemode.CallRecord{{Effect: codemode.EffectUnknown}} // not known to read
		}
		props.RunID = row.ID
		props.Form = views.Form{Code: ui.Clean(row.Code), InputSchema: indented(recipes.SchemaOf([]byte(row.Input))), Effect: string(recipes.EffectOf(p, out.Calls))}
	}
	return a.form(c, p, props, nil)
}

// Create serves POST …/recipes.
func (a *Pages) Create(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	form := posted(c)
	row, err := a.Store.Create(c.UserContext(), p.Project.Slug, form.Name, declared(form))
	if err != nil {
		return a.form(c, p, views.FormProps{Form: form, RunID: web.FormValue(c, "run")}, err)
	}
	return frame.Done(c, paths.Recipe(p.Project.Slug, row.ID), "Recipe saved. Clients can call it now.")
}

// Edit serves GET …/recipes/:id/edit.
func (a *Pages) Edit(c *fiber.Ctx) error {
	p, row, err := a.recipe(c)
	if err != nil {
		return err
	}
	form := formOf(&row)
	return a.form(c, p, views.FormProps{ID: row.ID, Form: form, Seen: frame.Fingerprint(form)}, nil)
}

// Update serves POST …/recipes/:id.
func (a *Pages) Update(c *fiber.Ctx) error {
	p, row, err := a.recipe(c)
	if err != nil {
		return err
	}
	form, stored := posted(c), formOf(&row)
	form.Name = row.Name
	err = frame.CheckUnchanged(c, stored, frame.NewEntry("Description", stored.Description, form.Description), frame.NewEntry("Effect", stored.Effect, form.Effect),
		frame.NewEntry("Input schema", stored.InputSchema, form.InputSchema), frame.NewEntry("Code", stored.Code, form.Code))
	if err == nil {
		_, err = a.Store.Update(c.UserContext(), p.Project.Slug, row.ID, declared(form))
	}
	if err != nil {
		return a.form(c, p, views.FormProps{ID: row.ID, Form: form, Seen: frame.Fingerprint(stored)}, err)
	}
	return frame.Done(c, paths.Recipe(p.Project.Slug, row.ID), "Recipe saved.")
}

// form renders the form of a recipe. failed is the error of a rejected form, or
// nil.
func (a *Pages) form(c *fiber.Ctx, p *toolset.Snapshot, props views.FormProps, failed error) (err error) {
	if props.Errors, err = frame.Fields(c, failed); err != nil {
		return err
	}
	props.Project = p.Project.Slug
	title, crumbs := "Save as recipe", []layout.Crumb{{Label: "New recipe"}}
	if props.ID != "" {
		title = props.Form.Name + ": edit"
		crumbs = []layout.Crumb{{Label: props.Form.Name, URL: paths.Recipe(p.Project.Slug, props.ID)}, {Label: "Edit"}}
	}
	props.Frame = a.frame(c, p, title, crumbs...)
	for _, server := range p.Servers {
		props.Names = append(props.Names, typescript.Identifier(server.Config.Alias))
	}
	return web.Render(c, views.Edit(props))
}

// posted returns the posted form.
func posted(c *fiber.Ctx) views.Form {
	return views.Form{
		Name: strings.TrimSpace(web.FormValue(c, "name")), Description: strings.TrimSpace(web.FormValue(c, "description")), Effect: web.FormValue(c, "effect"),
		InputSchema: strings.TrimSpace(strings.ReplaceAll(web.FormValue(c, "inputSchema"), "\r\n", "\n")), Code: strings.ReplaceAll(web.FormValue(c, "code"), "\r\n", "\n"),
	}
}

func formOf(row *models.Recipe) views.Form {
	return views.Form{Name: row.Name, Description: row.Description, Effect: string(row.Effect), InputSchema: indented(row.InputSchema), Code: row.Code}
}

// declared returns the recipe that a form describes. The store validates it.
func declared(f views.Form) *declaration.Recipe {
	if f.InputSchema == "" {
		f.InputSchema = recipes.EmptySchema
	}
	return &declaration.Recipe{Description: &f.Description, InputSchema: &f.InputSchema, Code: &f.Code, Effect: new(models.RecipeEffect(f.Effect))}
}

// indented returns JSON with line breaks.
func indented(raw string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(raw), "", "  ") != nil {
		return raw
	}
	return b.String()
}

// exampleOf returns the second argument of a call with the required properties of a
// schema, or "" if there are none.
func exampleOf(inputSchema string) string {
	o, err := rawjson.ParseObject([]byte(inputSchema), rawjson.Lenient)
	if err != nil {
		return ""
	}
	var names []string
	if json.Unmarshal(o.Get("required"), &names) != nil || len(names) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(", {\n")
	for _, name := range names {
		if !schema.IsPlainIdentifier(name) {
			name = schema.Quote(name)
		}
		b.WriteString("  " + ui.Clean(name) + ": …,\n")
	}
	return b.String() + "}"
}
