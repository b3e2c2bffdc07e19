// Package observe serves the calls of a project, also as a live stream, and the
// audit log. It resolves principals to names.
package observe

import (
	"context"
	"net/url"
	"slices"
	"time"

	"mcpgateway/services/access/keys"
	"mcpgateway/web/guard"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// activityRows is the number of calls on a page.
const activityRows = 40

// activityTime is the time limit for the queries of a page.
const activityTime = 15 * time.Second

// ActivityOptions holds the dependencies of the activity pages. All fields except
// Poll and KeepAlive are required.
type ActivityOptions struct {
	Pages   *admin.ProjectPages
	Guards  *guard.Guards
	Calls   *activity.Calls
	Keys    *keys.Store
	People  *access.Users
	Cursors *page.Cursors

	Poll      time.Duration // interval of polls for new calls while a page is open; 0 means 1 s
	KeepAlive time.Duration // interval of session checks of an open page; 0 means 15 s
}

// Activity serves the calls of a project.
type Activity struct {
	ActivityOptions
	live *liveTails
}

// NewActivity returns the handlers.
func NewActivity(o ActivityOptions) *Activity {
	if o.Poll == 0 {
		o.Poll = time.Second
	}
	return &Activity{ActivityOptions: o, live: newLiveTails()}
}

// OpenStreams returns the number of open live streams.
func (a *Activity) OpenStreams() int { return a.live.count() }

// Page serves GET /admin/projects/:projectSlug/activity?period=&query=&cursor=.
// An invalid cursor redirects to the first page.
func (a *Activity) Page(c *fiber.Ctx) error {
	project, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	asked, err := a.parseQuery(c, project)
	props := a.props(c, project, asked)
	if f := fault.From(err); err != nil && f.Kind != fault.KindInvalid {
		return err
	} else if err != nil {
		return invalidQuery(c, props, err)
	}
	before := ""
	if cursor := c.Query("cursor"); cursor != "" {
		if before, err = a.Cursors.Open(asked.binding(), activityRevision, cursor); err != nil {
			return c.Redirect(asked.address(), fiber.StatusSeeOther)
		}
		props.LiveURL, props.Pager.FirstURL = "", asked.address()
	}
	if err := a.fillWithin(c.UserContext(), &props, asked, before); err != nil {
		return err
	}
	return web.Render(c, views.Activity(props))
}

// invalidQuery renders the page of an invalid query. For htmx requests, which replace a
// part of the page while the user types, the status stays 200.
func invalidQuery(c *fiber.Ctx, props views.ActivityProps, err error) error {
	props.Failed, props.Search.Error = true, frame.QueryError(err)
	if c.Get("HX-Request") != "true" {
		c.Status(web.StatusOf(err))
	}
	return web.Render(c, views.Activity(props))
}

// fillWithin calls fill with the time limit activityTime.
func (a *Activity) fillWithin(ctx context.Context, props *views.ActivityProps, asked *activityQuery, before string) error {
	ctx, cancel := context.WithTimeout(ctx, activityTime)
	defer cancel()
	err := a.fill(ctx, props, asked, before)
	if err != nil && ctx.Err() != nil {
		return fault.New(fault.KindUnavailable, fault.CodeUnavailable, "That took too long. Choose a shorter period.").Because(err)
	}
	return err
}

// props returns the page before any calls are loaded.
func (a *Activity) props(c *fiber.Ctx, project *toolset.Snapshot, q *activityQuery) views.ActivityProps {
	return views.ActivityProps{
		Frame:   a.Pages.ProjectFrame(c, project, layout.TabActivity, "Activity"),
		Project: a.Pages.Head(project, layout.TabActivity), Now: q.now, Periods: q.periods(), Any: true,
		Search: ui.SearchProps{
			Action: q.path(), Query: q.text, Label: "Search calls", Placeholder: "tool, server:github, outcome:failed, caller:name", Live: true,
			Hidden: []ui.Pair{{Name: "period", Value: q.period.name}}, Chips: q.chips(),
		},
		Filters: len(q.clauses) > 0, LiveURL: q.path() + "/live" + q.values("query").encoded(),
		CSVURL: q.path() + "/export" + q.values("query", "period").with("format", "csv"), JSONURL: q.path() + "/export" + q.values("query", "period").with("format", "json"),
		AllURL: q.path() + "?period=7d", Recorded: project.Project.RecordPayloads,
	}
}

// fill loads the calls and the statistics of the page.
func (a *Activity) fill(ctx context.Context, p *views.ActivityProps, q *activityQuery, before string) error {
	calls, next, err := a.Calls.List(ctx, q.filter, before, activityRows)
	if err != nil {
		return err
	}
	names := NewCallers(a.Keys, a.People)
	for _, call := range calls {
		p.Rows = append(p.Rows, rowOf(call, q, names.Of(ctx, call.Principal)))
	}
	p.Pager.Shown = ui.Plural(len(calls), "call", "calls") + " shown"
	if next != "" {
		cursor, err := a.Cursors.Seal(q.binding(), activityRevision, next)
		if err != nil {
			return err
		}
		p.Pager.NextURL = q.path() + q.values("query", "period").with("cursor", cursor)
	}
	if len(calls) == 0 && !p.Filters {
		if p.Any, err = a.any(ctx, q.filter.ProjectID); err != nil {
			return err
		}
	}
	stats, err := a.Calls.Stats(ctx, q.filter, q.period.steps)
	if err != nil {
		return err
	}
	summarise(p, q, stats)
	return nil
}

// any reports whether the project has stored calls.
func (a *Activity) any(ctx context.Context, projectID string) (bool, error) {
	calls, _, err := a.Calls.List(ctx, activity.CallFilter{ProjectID: projectID}, "", 1)
	return len(calls) > 0, err
}

// Export serves GET /admin/projects/:projectSlug/activity/export: all matching
// calls as one CSV or JSON file.
func (a *Activity) Export(c *fiber.Ctx) error {
	project, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	asked, err := a.parseQuery(c, project)
	if err != nil {
		return err
	}
	name, slug := project.Project.Slug+"-calls", func(string) string { return project.Project.Slug }
	switch c.Query("format") {
	case "csv":
		return download(c, "text/csv; charset=utf-8; header=present", name+".csv", a.Calls.ExportCSV(c.UserContext(), asked.filter, slug))
	case "json":
		return download(c, fiber.MIMEApplicationJSON, name+".json", a.Calls.ExportJSON(c.UserContext(), asked.filter, slug))
	}
	return fault.Invalid("Unknown format. Use json or csv.")
}

// download sends a file. It reads the first chunk before sending anything, so that
// an early error still gets an error response.
func download(c *fiber.Ctx, media, name string, file *activity.Export) error {
	first, err := file.Next()
	if err != nil {
		return err
	}
	next := func() ([]byte, error) { return first, nil }
	web.Download(c, media, name, func() ([]byte, error) {
		piece, err := next()
		next = file.Next
		return piece, err
	})
	return nil
}

// Call serves GET /admin/projects/:projectSlug/activity/:id.
func (a *Activity) Call(c *fiber.Ctx) error {
	project, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	ctx := c.UserContext()
	call, err := a.Calls.Get(ctx, project.Project.ID, c.Params("id"))
	if err != nil {
		return err
	}
	props := callProps(project, call, NewCallers(a.Keys, a.People).Of(ctx, call.Principal))
	props.Frame = a.Pages.ProjectFrame(c, project, layout.TabActivity, "Call", layout.Crumb{Label: "Call"})
	if props.Admin() {
		if props.Payload, err = a.payload(ctx, call.ID); err != nil {
			return err
		}
	}
	return web.Render(c, views.ActivityCall(props))
}

// payload returns the recorded arguments and result of a call, or nil.
func (a *Activity) payload(ctx context.Context, id string) (*views.ActivityPayload, error) {
	payload, err := a.Calls.Payload(ctx, id)
	if err != nil || payload == nil {
		return nil, err
	}
	return &views.ActivityPayload{
		Arguments: payload.Arguments, ArgumentsCut: payload.ArgumentsCut, Answer: payload.Answer, AnswerCut: payload.AnswerCut,
	}, nil
}

// callProps converts a call for its page.
func callProps(project *toolset.Snapshot, call models.Call, caller string) views.ActivityCallProps {
	slug := project.Project.Slug
	props := views.ActivityCallProps{
		Slug: slug, At: call.At, Tool: toolWords(call.Tool), Server: call.Server, Builtin: activity.ServerOf(call) == activity.ServerBuiltin, Caller: caller, Outcome: string(call.Outcome), Code: call.Code,
		Duration: time.Duration(call.DurationUS) * time.Microsecond, RequestBytes: call.RequestBytes, ResponseBytes: call.ResponseBytes, RequestID: call.RequestID, Recorded: project.Project.RecordPayloads,
		SameURL: paths.Activity(slug) + "?" + url.Values{"query": {clauseText("tool", call.Tool)}, "period": {"7d"}}.Encode(),
	}
	if server := project.Server(call.Server); server != nil {
		props.ServerURL = paths.Server(slug, server.Config.ID)
	}
	if slices.ContainsFunc(project.AllTools(), func(t *toolset.Tool) bool { return t.FullName == call.Tool }) {
		props.ToolURL = paths.Tool(slug, call.Tool)
	}
	return props
}
