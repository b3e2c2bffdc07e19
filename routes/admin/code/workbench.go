package code

import (
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/codemode"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/sandbox"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/code"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// firstCode is the initial code of the form. It works in every project and
// changes nothing.
const firstCode = `// Find tools for a task.
const found = await gateway.search("what you want to do");
console.log(found.total, "tools");
return found.candidates.map((tool) => tool.name);
`

// Workbench serves GET /admin/projects/:projectSlug/code-mode. ?run= fills in the
// code of a stored run and shows its outcome, ?find= searches the functions.
func (a *Pages) Workbench(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	props := views.WorkbenchProps{Form: views.RunForm{Code: firstCode, Typecheck: string(codemode.TypecheckWarn)}}
	if id := c.Query("run"); id != "" {
		row, err := a.Traces.Get(c.UserContext(), p.Project.ID, id)
		if err != nil {
			return err
		}
		props = shownRun(p, row, codemode.Typecheck(c.Query("typecheck")))
	}
	return a.workbench(c, p, props, c.Query("find"), nil)
}

// RunURL serves GET …/code-mode/run, the former URL of the workbench.
func (a *Pages) RunURL(c *fiber.Ctx) error {
	to := paths.CodeMode(c.Params("projectSlug"))
	if query := string(c.Request().URI().QueryString()); query != "" {
		to += "?" + query
	}
	return c.Redirect(to, fiber.StatusMovedPermanently)
}

// shownRun returns the form with the code and the outcome of a run. check is the
// type check of the run, if it is known.
func shownRun(p *toolset.Snapshot, row models.CodeRun, check codemode.Typecheck) views.WorkbenchProps {
	outcome := outcomeOf(p, row)
	outcome.RunURL = paths.CodeTrace(p.Project.Slug, row.ID)
	props := views.WorkbenchProps{
		Form:    views.RunForm{Code: ui.Clean(row.Code), Input: row.Input, DryRun: row.DryRun, Typecheck: string(codemode.TypecheckWarn)},
		Cleaned: ui.Hidden(row.Code), Outcome: &outcome, Checked: check == codemode.TypecheckWarn || check == codemode.TypecheckError,
	}
	if check == codemode.TypecheckOff || check == codemode.TypecheckError {
		props.Form.Typecheck = string(check)
	}
	if !row.InputCut {
		props.Replay = &views.Replay{ID: row.ID}
		outcome.RecipeURL = views.RecipeURL(p.Project.Slug, row.ID, outcome)
	}
	return props
}

// workbench renders the page. find is the search of functions, failed the error
// that prevented a run, or nil.
func (a *Pages) workbench(c *fiber.Ctx, p *toolset.Snapshot, props views.WorkbenchProps, find string, failed error) (err error) {
	if props.Errors, err = frame.Fields(c, failed); err != nil {
		return err
	}
	if failed != nil && frame.WantsLive(c) {
		c.Status(fiber.StatusOK) // the script replaces only a part of the page and requires status 200
	}
	if props.Functions, err = a.functions(c.UserContext(), p, find); err != nil {
		return err
	}
	slug := p.Project.Slug
	props.Frame, props.Slug, props.On, props.CanTypecheck = a.frame(c, p, "Workbench"), slug, p.Project.CodeModeEnabled, a.CanTypecheck
	props.Checked = props.Checked && a.CanTypecheck
	props.Wide, props.Bar = layout.Full, views.Bar(slug)
	props.Stored = settingsOf(p)
	props.Seen = frame.Fingerprint(props.Stored)
	for _, n := range namespaces(p) {
		props.Names = append(props.Names, n.Ident)
	}
	if props.Replay != nil {
		props.Replay = views.NewReplay(slug, props.Replay.ID, props.CSRF(), "", *props.Outcome)
	}
	return web.Render(c, views.Workbench(props))
}

// Run serves POST …/code-mode/run. It runs the code like a client's code, on
// behalf of the administrator, and redirects to the page with the outcome. A
// script that accepts an event stream receives the steps of the run. With only=
// it runs nothing and searches the functions.
func (a *Pages) Run(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	form, q := postedRun(c)
	props, find := views.WorkbenchProps{Form: form}, web.FormValue(c, "find")
	if web.FormValue(c, "only") != "" {
		return a.workbench(c, p, props, find, nil)
	}
	live := frame.WantsLive(c)
	if err := unfit(form); err != nil {
		return a.workbench(c, p, props, find, err)
	}
	if live {
		return a.runLive(c, p, q)
	}
	out, err := a.run(c, p, q)
	switch {
	case err != nil:
		return a.workbench(c, p, props, find, err)
	case out.TraceID != "":
		return c.Redirect(outcomePath(p, out.TraceID, q.Typecheck), fiber.StatusSeeOther)
	}
	// The run was not started or not stored, so it has no page.
	props.Outcome = new(shownOutcome(p, out, form.Code))
	return a.workbench(c, p, props, find, nil)
}

// postedRun returns the posted form and its run request.
func postedRun(c *fiber.Ctx) (views.RunForm, codemode.Request) {
	form := views.RunForm{
		Code: strings.ReplaceAll(web.FormValue(c, "code"), "\r\n", "\n"), Input: strings.TrimSpace(web.FormValue(c, "input")),
		DryRun: web.FormValue(c, "dryRun") != "", Typecheck: web.FormValue(c, "typecheck"),
	}
	return form, codemode.Request{Code: form.Code, Input: []byte(form.Input), DryRun: form.DryRun, Typecheck: codemode.Typecheck(form.Typecheck)}
}

// outcomePath returns the URL of the workbench with the code and outcome of a run.
func outcomePath(p *toolset.Snapshot, id string, check codemode.Typecheck) string {
	return paths.CodeMode(p.Project.Slug) + "?" + url.Values{"run": {id}, "typecheck": {string(check)}}.Encode() + "#outcome"
}

// unfit validates the form.
func unfit(p views.RunForm) error {
	wrong := map[string]string{}
	switch {
	case strings.TrimSpace(p.Code) == "":
		wrong["code"] = "enter some code"
	case len(p.Code) > sandbox.MaxCode:
		wrong["code"] = "use at most 64 KiB of code"
	}
	switch {
	case len(p.Input) > codemode.MaxInput:
		wrong["input"] = "use at most 256 KiB of input"
	case p.Input != "" && rawjson.Valid([]byte(p.Input), rawjson.Lenient) != nil:
		wrong["input"] = "use valid JSON; put text in double quotes"
	}
	if len(wrong) > 0 {
		return fault.Validation(wrong)
	}
	return nil
}
