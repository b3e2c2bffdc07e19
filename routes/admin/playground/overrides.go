package playground

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/projects/toolstate"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// hints are the annotations that the form can change.
var hints = []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}

// Override serves POST /admin/projects/:projectSlug/tools/:name/overrides. An
// override with references requires a recent step-up confirmation.
func (a *Playground) Override(c *fiber.Ctx) error {
	project, tool, err := a.pages.Tool(c)
	if err != nil {
		return err
	}
	form := overrideTyped(c)
	o, problems := parseOverride(form)
	if projects.TouchesCredentials(tool.Server.Config, &declaration.Server{ToolOverrides: &models.ToolOverrides{tool.Upstream: o}}) {
		if confirmed, err := a.stepUp.StepUp(c); !confirmed {
			return err
		}
	}
	if err = frame.CheckUnchanged(c, storedOverride(tool), overrideEntries(tool, form)...); err == nil && len(problems) > 0 {
		err = fault.Validation(problems)
	}
	if err == nil {
		_, err = a.store.OverrideTool(c.UserContext(), tool.Server.Config.ID, tool.Upstream, storedOverride(tool), o)
	}
	if err == nil {
		return a.overridden(c, project, tool, "Overrides saved.")
	}
	fields, err := frame.Fields(c, err)
	if err != nil {
		return err
	}
	return a.pageWith(c, project, tool, a.form(c, project, tool, false), func(p *views.ToolProps) {
		p.Override.Form, p.Override.Errors = form, overrideFields(fields, tool.Upstream)
	})
}

// ResetOverride serves POST …/tools/:name/overrides/reset.
func (a *Playground) ResetOverride(c *fiber.Ctx) error {
	project, tool, err := a.pages.Tool(c)
	if err != nil {
		return err
	}
	if err = frame.CheckUnchanged(c, storedOverride(tool)); err == nil {
		_, err = a.store.OverrideTool(c.UserContext(), tool.Server.Config.ID, tool.Upstream, storedOverride(tool), models.ToolOverride{})
	}
	if err != nil {
		return frame.Failed(c, paths.Tool(project.Project.Slug, tool.FullName), err)
	}
	return a.overridden(c, project, tool, "Overrides reset.")
}

// ConfirmAccess serves POST …/tools/:name/access. It confirms the access that the
// definition shown on the page claims.
func (a *Playground) ConfirmAccess(c *fiber.Ctx) error {
	project, tool, err := a.pages.Tool(c)
	if err != nil {
		return err
	}
	to := paths.Tool(project.Project.Slug, tool.FullName)
	seen := toolstate.Definition{Name: tool.FullName, Hash: web.FormValue(c, "hash")}
	if err := a.states.ConfirmAccess(c.UserContext(), project.Project.Slug, seen); err != nil {
		return frame.Failed(c, to, err)
	}
	return frame.Done(c, to, "Confirmed. Toolsets now go by what the server says.")
}

// overridden redirects to the page of a changed tool, whose name may be new.
func (a *Playground) overridden(c *fiber.Ctx, project *toolset.Snapshot, tool *toolset.Tool, done string) error {
	name := tool.FullName
	if now := a.pages.Directory.ProjectByID(project.Project.ID); now != nil {
		for _, t := range now.AllTools() {
			if t.Server.Config.ID == tool.Server.Config.ID && t.Upstream == tool.Upstream {
				name = t.FullName
			}
		}
	}
	return frame.Done(c, paths.Tool(project.Project.Slug, name), done)
}

// storedOverride returns the override of a tool as JSON, "{}" if there is none.
func storedOverride(tool *toolset.Tool) string {
	if tool.Override == nil {
		return "{}"
	}
	return string(tool.Override.JSON())
}

// overrideEntries compares the stored override with the entered one.
func overrideEntries(tool *toolset.Tool, entered views.OverrideForm) []frame.Entry {
	stored := overrideForm(tool)
	return []frame.Entry{
		frame.NewEntry("Name", stored.As, entered.As), frame.NewEntry("Title", stored.Title, entered.Title),
		frame.NewEntry("Description", ui.Beginning(stored.Description, 100), ui.Beginning(entered.Description, 100)),
		frame.NewEntry("Defaults", stored.Defaults, entered.Defaults), frame.NewEntry("Fixed", stored.Fixed, entered.Fixed),
	}
}

// overrideTyped returns the entered values.
func overrideTyped(c *fiber.Ctx) views.OverrideForm {
	value := func(name string) string {
		return strings.TrimSpace(strings.ReplaceAll(web.FormValue(c, name), "\r\n", "\n"))
	}
	return views.OverrideForm{
		As: value("as"), Title: value("title"), Description: value("description"), Defaults: value("defaults"), Fixed: value("fixed"),
		ReadOnly: value("annotations.readOnlyHint"), Destructive: value("annotations.destructiveHint"),
		Idempotent: value("annotations.idempotentHint"), OpenWorld: value("annotations.openWorldHint"),
	}
}

// parseOverride returns the entered override, and its problems by field.
func parseOverride(form views.OverrideForm) (models.ToolOverride, map[string]string) {
	problems := map[string]string{}
	given := map[string]any{}
	for name, text := range map[string]string{"as": form.As, "title": form.Title, "description": form.Description} {
		if text != "" {
			given[name] = text
		}
	}
	for name, text := range map[string]string{"defaults": form.Defaults, "fixed": form.Fixed} {
		switch err := checkObject(text); {
		case text == "":
		case err != nil:
			problems[name] = "use a JSON object: " + err.Error()
		default:
			given[name] = json.RawMessage(text)
		}
	}
	chosen := map[string]json.RawMessage{}
	for i, value := range []string{form.ReadOnly, form.Destructive, form.Idempotent, form.OpenWorld} {
		switch value {
		case "":
		case "true", "false":
			chosen[hints[i]] = json.RawMessage(value)
		default:
			problems["annotations."+hints[i]] = "choose one of the options"
		}
	}
	given["annotations"] = chosen
	raw, err := json.Marshal(given)
	if err != nil { // texts and checked objects always encode
		return models.ToolOverride{}, map[string]string{"": err.Error()}
	}
	o, wrong := declaration.ParseToolOverride(raw)
	for name, why := range wrong {
		if problems[name] == "" {
			problems[name] = why
		}
	}
	return o, overrideFields(problems, "")
}

// checkObject returns the problem of a text that must be a JSON object.
func checkObject(text string) error {
	if len(text) > maxTypedJSON {
		return errors.New("at most 256 KiB are allowed")
	}
	if err := rawjson.CheckDepth([]byte(text), maxTypedDeep); err != nil {
		return err
	}
	_, err := rawjson.ParseObject([]byte(text), rawjson.Strict)
	return err
}

// overrideFields returns problems by the field of the form. Those inside of an
// object are problems of its field.
func overrideFields(problems map[string]string, tool string) map[string]string {
	fields := map[string]string{}
	names := make([]string, 0, len(problems))
	for name := range problems {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		field, why := strings.TrimPrefix(name, "tools."+tool+"."), problems[name]
		for _, object := range []string{"defaults", "fixed"} {
			if inner, inside := strings.CutPrefix(field, object+"."); inside {
				field, why = object, ui.Beginning(inner, 64)+": "+why
			}
		}
		if field == "tools" {
			field = ""
		}
		if fields[field] == "" {
			fields[field] = why
		}
	}
	return fields
}

// overrideForm returns the values of the form for the stored override.
func overrideForm(tool *toolset.Tool) views.OverrideForm {
	if tool.Override == nil {
		return views.OverrideForm{}
	}
	o := tool.Override.ToolOverride
	return views.OverrideFormOf(o, indentedArguments(o.Defaults), indentedArguments(o.Fixed))
}

// indentedArguments returns arguments as indented JSON, or "" without arguments.
func indentedArguments(arguments map[string]json.RawMessage) string {
	if len(arguments) == 0 {
		return ""
	}
	var compact, b bytes.Buffer
	enc := json.NewEncoder(&compact)
	enc.SetEscapeHTML(false)
	if enc.Encode(arguments) != nil || json.Indent(&b, bytes.TrimSpace(compact.Bytes()), "", "  ") != nil {
		return "" // stored arguments are valid
	}
	return b.String()
}

// overrideProps converts the override of a tool for its page.
func overrideProps(tool *toolset.Tool) views.OverrideProps {
	alias := tool.Server.Config.Alias
	p := views.OverrideProps{
		Own: tool.Upstream, Set: tool.Override != nil, Renamed: tool.Override != nil && tool.Override.As != "",
		Seen: frame.Fingerprint(storedOverride(tool)), Prefix: alias + toolset.Separator, Form: overrideForm(tool), Original: originalTexts(tool.Raw),
	}
	if tool.AccessPending {
		p.Claimed, p.Confirmed = string(tool.Hints.Access()), string(tool.ToolsetAccess)
	}
	if tool.Taken != "" {
		p.Stale = append(p.Stale, "Its name belongs to the tool "+ui.Beginning(ui.Clean(tool.Taken), 128)+" of the same server. Rename one of them.")
	}
	if tool.Override != nil {
		for _, name := range tool.Override.Lost {
			p.Stale = append(p.Stale, "The fixed argument "+ui.Beginning(ui.Clean(name), 64)+" is no longer a parameter, so the tool is held back. Remove it.")
		}
		for _, name := range tool.Override.Unused {
			p.Stale = append(p.Stale, "The default "+ui.Beginning(ui.Clean(name), 64)+" is no longer a parameter and isn't sent.")
		}
	}
	return p
}

// originalTexts returns the server's own texts and annotations.
func originalTexts(raw []byte) (f views.OverrideForm) {
	definition, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return f
	}
	f.Title, _ = definition.String("title")
	f.Description, _ = definition.String("description")
	annotations := definition.Object("annotations")
	for name, dst := range map[string]*string{"readOnlyHint": &f.ReadOnly, "destructiveHint": &f.Destructive, "idempotentHint": &f.Idempotent, "openWorldHint": &f.OpenWorld} {
		if value := string(annotations.Get(name)); value == "true" || value == "false" {
			*dst = value
		}
	}
	return f
}
