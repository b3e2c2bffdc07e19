package code

import (
	"context"
	"net/url"
	"strings"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/codemode"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/sandbox"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/conn"
	"mcpgateway/web/guard"
)

// maxStepText is the maximum length of a console line shown while the code runs,
// in characters.
const maxStepText = 500

// firstCode is the initial code of the form. It works in every project and
// changes nothing.
const firstCode = `// Find tools for a task.
const found = await gateway.search("what you want to do");
console.log(found.results.length, "tools");
return found.results.map((tool) => tool.name);
`

// RunForm serves GET …/code-mode/run. ?run= fills in the code of a stored run and
// shows its outcome.
func (a *Pages) RunForm(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	props := views.CodeRunProps{Code: firstCode, Typecheck: string(codemode.TypecheckWarn)}
	if id := c.Query("run"); id != "" {
		row, err := a.Traces.Get(c.UserContext(), p.Project.ID, id)
		if err != nil {
			return err
		}
		props = runProps(p, row, codemode.Typecheck(c.Query("typecheck")))
	}
	return a.runPage(c, p, props, nil)
}

// runProps returns the form with the code and the outcome of a run.
func runProps(p *toolset.Snapshot, row models.CodeRun, check codemode.Typecheck) views.CodeRunProps {
	outcome := outcomeOf(row)
	props := views.CodeRunProps{
		Code: ui.Clean(row.Code), Cleaned: ui.Hidden(row.Code), Input: row.Input, DryRun: row.DryRun, Outcome: &outcome,
		RunURL: paths.CodeTrace(p.Project.Slug, row.ID), Typecheck: string(codemode.TypecheckWarn),
	}
	if check == codemode.TypecheckOff || check == codemode.TypecheckError {
		props.Typecheck = string(check)
	}
	return props
}

// runPage renders the form. failed is the error that prevented the run, or nil.
func (a *Pages) runPage(c *fiber.Ctx, p *toolset.Snapshot, props views.CodeRunProps, failed error) (err error) {
	if props.Errors, err = frame.Fields(c, failed); err != nil {
		return err
	}
	if failed != nil && frame.WantsLive(c) {
		c.Status(fiber.StatusOK) // the script replaces only a part of the page and requires status 200
	}
	props.Frame, props.Project = a.Pages.ProjectFrame(c, p, layout.TabCodeMode, "Run code", layout.Crumb{Label: "Run code"}), a.Pages.Head(p, layout.TabCodeMode)
	props.On, props.CanTypecheck = p.Project.CodeModeEnabled, a.CanTypecheck
	return web.Render(c, views.CodeRun(props))
}

// Run serves POST …/code-mode/run. It runs the code like a client's code, on
// behalf of the administrator, and redirects to the page with the outcome. A
// script that accepts an event stream receives the steps of the run.
func (a *Pages) Run(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	props, q := postedRun(c)
	live := frame.WantsLive(c)
	if err := unfit(props); err != nil {
		return a.runPage(c, p, props, err)
	}
	if live {
		return a.runLive(c, p, q)
	}
	out, err := a.run(c, p, q)
	switch {
	case err != nil:
		return a.runPage(c, p, props, err)
	case out.TraceID != "":
		return c.Redirect(outcomePath(p, out.TraceID, q.Typecheck), fiber.StatusSeeOther)
	}
	// The run was not started or not stored, so it has no page.
	props.Outcome = new(shownOutcome(out, props.Code))
	return a.runPage(c, p, props, nil)
}

// postedRun returns the posted form and its run request.
func postedRun(c *fiber.Ctx) (views.CodeRunProps, codemode.Request) {
	props := views.CodeRunProps{
		Code: strings.ReplaceAll(web.FormValue(c, "code"), "\r\n", "\n"), Input: strings.TrimSpace(web.FormValue(c, "input")),
		DryRun: web.FormValue(c, "dryRun") != "", Typecheck: web.FormValue(c, "typecheck"),
	}
	return props, codemode.Request{Code: props.Code, Input: []byte(props.Input), DryRun: props.DryRun, Typecheck: codemode.Typecheck(props.Typecheck)}
}

// outcomePath returns the URL of the form with the code and outcome of a run.
func outcomePath(p *toolset.Snapshot, id string, check codemode.Typecheck) string {
	return paths.CodeRun(p.Project.Slug) + "?" + url.Values{"run": {id}, "typecheck": {string(check)}}.Encode() + "#outcome"
}

// runLive runs code and streams its steps.
func (a *Pages) runLive(c *fiber.Ctx, p *toolset.Snapshot, q codemode.Request) error {
	client, err := a.clientOf(c, p, &q)
	if err != nil {
		return err
	}
	// Stopping the run closes the stream before it can name the stored run. The
	// Content-Location header therefore names the URL that returns the link.
	q.TraceID = codemode.NewTraceID()
	c.Set(fiber.HeaderContentLocation, paths.CodeTrace(p.Project.Slug, q.TraceID)+"/kept")
	return frame.RespondLive(c, a.Pages.Assets, func(ctx context.Context, live *frame.LiveStream) (templ.Component, string) {
		q.OnStep = func(s codemode.Step) { live.Show(stepOf(s)) }
		out, err := a.Runner.Run(ctx, p, client, q)
		switch {
		case err != nil:
			return views.CodeRunFailed(fault.From(err).Message), ""
		case out.TraceID != "":
			return nil, outcomePath(p, out.TraceID, q.Typecheck)
		default:
			return views.CodeRunOutcome(shownOutcome(out, q.Code), ""), ""
		}
	})
}

// stepOf renders a step of a run.
func stepOf(s codemode.Step) templ.Component {
	switch {
	case s.Line != nil:
		return views.CodeStepLine(s.Line.MS, s.Line.Level, ui.Beginning(s.Line.Text, maxStepText))
	case s.Began != nil:
		return views.CodeStepCall(codeCall(*s.Began), false)
	default:
		return views.CodeStepCall(codeCall(*s.Ended), true)
	}
}

// unfit validates the form.
func unfit(p views.CodeRunProps) error {
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

// run runs code on behalf of the signed-in administrator. The run is cancelled
// when the browser disconnects.
func (a *Pages) run(c *fiber.Ctx, p *toolset.Snapshot, q codemode.Request) (codemode.Outcome, error) {
	client, err := a.clientOf(c, p, &q)
	if err != nil {
		return codemode.Outcome{}, err
	}
	ctx, cancel := context.WithCancel(c.UserContext())
	defer cancel()
	defer conn.WatchDisconnect(c, cancel)()
	return a.Runner.Run(ctx, p, client, q)
}

// clientOf returns the client of the signed-in administrator and sets the
// principal of the request. It returns CODE_MODE_DISABLED or FORBIDDEN.
func (a *Pages) clientOf(c *fiber.Ctx, p *toolset.Snapshot, q *codemode.Request) (*gateway.Client, error) {
	if !p.Project.CodeModeEnabled {
		return nil, fault.New(fault.KindDisabled, fault.CodeCodeModeDisabled, "Code Mode is off in this project. Turn it on first.")
	}
	person := guard.UserOf(c)
	if person == nil {
		return nil, fault.Forbidden("Sign in to run code here.")
	}
	client := &gateway.Client{
		Principal: access.Administrator(person.ID, p.Project.ID), Version: gateway.VersionLatestHandshake, RequestID: web.EventOf(c).RequestID,
	}
	q.ProjectID, q.Principal, q.AwaitTrace = p.Project.ID, client.Principal.ID(), true
	return client, nil
}
