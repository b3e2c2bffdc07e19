package admin

import (
	"context"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/access"
	"mcpgateway/services/codemode"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// firstCode is what stands in the form at first. It works in every project and
// changes nothing.
const firstCode = `// Which tools are there for a task?
const found = await gateway.search("what you want to do");
console.log(found.results.length, "tools");
return found.results.map((tool) => tool.name);
`

// RunForm serves GET …/code-mode/run; ?run= fills in the code of a run that is
// kept and shows how it ended.
func (a *CodeMode) RunForm(c *fiber.Ctx) error {
	p, err := a.Directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	props := views.CodeRunProps{Code: firstCode, Typecheck: string(codemode.TypecheckWarn)}
	if id := c.Query("run"); id != "" {
		row, err := a.Traces.Get(c.UserContext(), p.Project.ID, id)
		if err != nil {
			return err
		}
		outcome := outcomeOf(row)
		props.Code, props.Cleaned = ui.Clean(row.Code), ui.Hidden(row.Code)
		props.Input, props.DryRun, props.Outcome = row.Input, row.DryRun, &outcome
		props.RunURL = codeTracePath(p.Project.Slug, row.ID)
		if check := codemode.Typecheck(c.Query("typecheck")); check == codemode.TypecheckOff || check == codemode.TypecheckError {
			props.Typecheck = string(check)
		}
	}
	return a.runPage(c, p, props)
}

func (a *CodeMode) runPage(c *fiber.Ctx, p *toolset.Snapshot, props views.CodeRunProps) error {
	props.Frame, props.Project = a.Pages.Frame(c, title(p, "Run code"), layout.SectionProjects), headOf(p, a.Health, layout.TabCodeMode)
	props.On, props.CanTypecheck = p.Project.CodeModeEnabled, a.CanTypecheck
	return web.Render(c, views.CodeRun(props))
}

// Run serves POST …/code-mode/run: it runs the code as a client's, in the name
// of the administrator, and leads to the page with the outcome.
func (a *CodeMode) Run(c *fiber.Ctx) error {
	p, err := a.Directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	props := views.CodeRunProps{
		Code: strings.ReplaceAll(posted(c, "code"), "\r\n", "\n"), Input: strings.TrimSpace(posted(c, "input")),
		DryRun: posted(c, "dryRun") != "", Typecheck: posted(c, "typecheck"),
	}
	q := codemode.Request{Code: props.Code, Input: []byte(props.Input), DryRun: props.DryRun, Typecheck: codemode.Typecheck(props.Typecheck)}
	err = unfit(props)
	var out codemode.Outcome
	if err == nil {
		out, err = a.run(c, p, q)
	}
	if err != nil {
		fields, ok := Fields(c, err)
		if !ok {
			return err
		}
		props.Errors = fields
		return a.runPage(c, p, props)
	}
	if out.TraceID != "" {
		return c.Redirect(codeModePath(p.Project.Slug)+"/run?"+url.Values{"run": {out.TraceID}, "typecheck": {props.Typecheck}}.Encode()+"#outcome", fiber.StatusSeeOther)
	}
	// The run got no place, or could not be kept: there is no other page of it.
	shown := shownOutcome(out, props.Code)
	props.Outcome = &shown
	return a.runPage(c, p, props)
}

// unfit returns what of a form cannot be run.
func unfit(p views.CodeRunProps) error {
	wrong := map[string]string{}
	switch {
	case strings.TrimSpace(p.Code) == "":
		wrong["code"] = "write some code"
	case len(p.Code) > codemode.MaxCode:
		wrong["code"] = "this is longer than 64 KiB"
	}
	switch {
	case len(p.Input) > codemode.MaxInput:
		wrong["input"] = "this is longer than 256 KiB"
	case p.Input != "" && rawjson.Valid([]byte(p.Input), rawjson.Lenient) != nil:
		wrong["input"] = "this is not JSON; text needs double quotes around it"
	}
	if len(wrong) > 0 {
		return fault.Validation(wrong)
	}
	return nil
}

// run runs code in the name of the administrator who is signed in. It ends
// early when the browser leaves.
func (a *CodeMode) run(c *fiber.Ctx, p *toolset.Snapshot, q codemode.Request) (codemode.Outcome, error) {
	if !p.Project.CodeModeEnabled {
		return codemode.Outcome{}, fault.New(fault.KindDisabled, fault.CodeCodeModeDisabled, "Code Mode is off in this project: switch it on first")
	}
	ctx, cancel := context.WithCancel(c.UserContext())
	defer cancel()
	defer web.WatchDisconnect(c, cancel)()
	person := web.PersonOf(c)
	if person == nil {
		return codemode.Outcome{}, fault.Forbidden("only a person who is signed in can run code here")
	}
	client := &gateway.Client{
		Principal: access.Administrator(person.ID, p.Project.ID), Version: gateway.VersionLatestHandshake, RequestID: web.EventOf(c).RequestID,
	}
	q.ProjectID, q.Principal, q.AwaitTrace = p.Project.ID, client.Principal.ID(), true
	return a.Runner.Run(ctx, p, client, q)
}
