package admin

import (
	"context"
	"net/url"
	"strings"

	"github.com/a-h/templ"
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
	"mcpgateway/web/conn"
	"mcpgateway/web/guard"
)

// maxStepText is how much of a line of the console is shown while the code
// runs, in characters.
const maxStepText = 500

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
// of the administrator, and leads to the page with the outcome. A script that
// accepts an event stream sees meanwhile what the code does.
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
	live := wantsLive(c)
	err = unfit(props)
	var out codemode.Outcome
	switch {
	case err != nil:
	case live:
		return a.runLive(c, p, q)
	default:
		out, err = a.run(c, p, q)
	}
	if err != nil {
		fields, ok := Fields(c, err)
		if !ok {
			return err
		}
		if live {
			c.Status(fiber.StatusOK) // a part of a page that a script replaces is no failure of its own
		}
		props.Errors = fields
		return a.runPage(c, p, props)
	}
	if out.TraceID != "" {
		return c.Redirect(outcomePath(p, out.TraceID, q.Typecheck), fiber.StatusSeeOther)
	}
	// The run got no place, or could not be kept: there is no other page of it.
	shown := shownOutcome(out, props.Code)
	props.Outcome = &shown
	return a.runPage(c, p, props)
}

// outcomePath returns the address of the form with the code of a run and how
// it ended.
func outcomePath(p *toolset.Snapshot, id string, check codemode.Typecheck) string {
	return codeModePath(p.Project.Slug) + "/run?" + url.Values{"run": {id}, "typecheck": {string(check)}}.Encode() + "#outcome"
}

// runLive runs code and answers with what it does meanwhile.
func (a *CodeMode) runLive(c *fiber.Ctx, p *toolset.Snapshot, q codemode.Request) error {
	client, err := a.clientOf(c, p, &q)
	if err != nil {
		return err
	}
	// Whoever stops the run ends the stream that would have told where it is
	// kept, so its beginning says where to ask for that.
	q.TraceID = codemode.NewTraceID()
	c.Set(fiber.HeaderContentLocation, codeTracePath(p.Project.Slug, q.TraceID)+"/kept")
	return answerLive(c, a.Pages.Assets, func(ctx context.Context, live *liveAnswer) (templ.Component, string) {
		q.Watch = func(s codemode.Step) { live.show(stepOf(s)) }
		out, err := a.Runner.Run(ctx, p, client, q)
		switch {
		case err != nil:
			return views.CodeRunFailed(problemOf(err)), ""
		case out.TraceID != "":
			return nil, outcomePath(p, out.TraceID, q.Typecheck)
		default:
			return views.CodeRunOutcome(shownOutcome(out, q.Code), ""), ""
		}
	})
}

// stepOf returns a step as the page shows it.
func stepOf(s codemode.Step) templ.Component {
	switch {
	case s.Line != nil:
		return views.CodeStepLine(s.Line.MS, s.Line.Level, beginning(s.Line.Text, maxStepText))
	case s.Began != nil:
		return views.CodeStepCall(codeCall(*s.Began), false)
	default:
		return views.CodeStepCall(codeCall(*s.Ended), true)
	}
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
	client, err := a.clientOf(c, p, &q)
	if err != nil {
		return codemode.Outcome{}, err
	}
	ctx, cancel := context.WithCancel(c.UserContext())
	defer cancel()
	defer conn.WatchDisconnect(c, cancel)()
	return a.Runner.Run(ctx, p, client, q)
}

// clientOf returns the client that the administrator who is signed in is, and
// puts their name to the request. It returns CODE_MODE_DISABLED and FORBIDDEN.
func (a *CodeMode) clientOf(c *fiber.Ctx, p *toolset.Snapshot, q *codemode.Request) (*gateway.Client, error) {
	if !p.Project.CodeModeEnabled {
		return nil, fault.New(fault.KindDisabled, fault.CodeCodeModeDisabled, "Code Mode is off in this project: switch it on first")
	}
	person := guard.PersonOf(c)
	if person == nil {
		return nil, fault.Forbidden("only a person who is signed in can run code here")
	}
	client := &gateway.Client{
		Principal: access.Administrator(person.ID, p.Project.ID), Version: gateway.VersionLatestHandshake, RequestID: web.EventOf(c).RequestID,
	}
	q.ProjectID, q.Principal, q.AwaitTrace = p.Project.ID, client.Principal.ID(), true
	return client, nil
}
