package code

import (
	"context"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/codemode"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/code"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/conn"
	"mcpgateway/web/guard"
)

// maxStepText is the maximum length of a console line shown while the code runs,
// in characters.
const maxStepText = 500

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
		q.OnStep = func(s codemode.Step) { live.Show(stepOf(p, s)) }
		out, err := a.Runner.Run(ctx, p, client, q)
		switch {
		case err != nil:
			return views.Failed(fault.From(err).Message), ""
		case out.TraceID != "":
			return nil, outcomePath(p, out.TraceID, q.Typecheck)
		default:
			return views.Unstored(shownOutcome(p, out, q.Code)), ""
		}
	})
}

// stepOf renders a step of a run.
func stepOf(p *toolset.Snapshot, s codemode.Step) templ.Component {
	switch {
	case s.Line != nil:
		return views.StepLine(s.Line.MS, s.Line.Level, ui.Beginning(s.Line.Text, maxStepText))
	case s.Began != nil:
		return views.StepCall(callOf(p, *s.Began), false)
	default:
		return views.StepCall(callOf(p, *s.Ended), true)
	}
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
