// Package observe serves the calls of a project, also also as live parts, and the
// audit log. It resolves principals to names.
package observe

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"mcpgateway/services/access/keys"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access"
	"mcpgateway/services/activity"
	"mcpgateway/services/activity/export"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/query"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// activityRows is the number of calls on a page.
const activityRows = 40

// activityRevision is the constant cursor revision of a log whose rows never
// change.
const activityRevision = "1"

// noCall is the id before all calls.
const noCall = "0"

// activityTime is the time limit for the queries of a page.
const activityTime = 15 * time.Second

// ActivityOptions holds the dependencies of the activity pages. All fields are
// required.
type ActivityOptions struct {
	Pages   *admin.ProjectPages
	Calls   *activity.Calls
	Traffic *traffic.Store
	Keys    *keys.Store
	People  *access.Users
	Cursors *page.Cursors
}

// Activity serves the calls of a project.
type Activity struct{ ActivityOptions }

// NewActivity returns the handlers.
func NewActivity(o ActivityOptions) *Activity { return &Activity{o} }

// Page serves GET /admin/projects/:projectSlug/activity?period=&from=&to=&query=.
// An invalid cursor redirects to the first page.
func (a *Activity) Page(c *fiber.Ctx) error {
	project, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	asked, err := a.parseQuery(c, project)
	props := a.props(project, asked)
	props.Frame = a.Pages.ProjectFrame(c, project, layout.TabActivity, "Activity")
	if f := fault.From(err); err != nil && f.Kind != fault.KindInvalid {
		return err
	} else if err != nil {
		props.Invalid, props.Search.Error = true, frame.QueryError(err)
		c.Status(web.StatusOf(err))
		return web.Render(c, views.Activity(props))
	}
	before := ""
	if cursor := c.Query("cursor"); cursor != "" {
		if before, err = a.Cursors.Open(asked.binding(), activityRevision, cursor); err != nil {
			return c.Redirect(asked.address(), fiber.StatusSeeOther)
		}
		props.Pager.FirstURL = asked.address()
	}
	if err := a.fillWithin(c.UserContext(), func(ctx context.Context) error { return a.fill(ctx, &props, project, asked, before) }); err != nil {
		return err
	}
	if before == "" {
		props.Frame.Live, err = a.follow(c.UserContext(), &props, asked)
		if err != nil {
			return err
		}
	}
	return web.Render(c, views.Activity(props))
}

// fillWithin calls fill with the time limit activityTime.
func (a *Activity) fillWithin(ctx context.Context, fill func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, activityTime)
	defer cancel()
	err := fill(ctx)
	if err != nil && ctx.Err() != nil {
		return fault.New(fault.KindUnavailable, fault.CodeUnavailable, "That took too long. Choose a shorter period.").Because(err)
	}
	return err
}

// props returns the page before any calls are loaded.
func (a *Activity) props(project *toolset.Snapshot, q *activityQuery) views.ActivityProps {
	p := views.ActivityProps{
		Slug: project.Project.Slug, Now: q.now, Any: true, Recorded: records(project), Kept: retentionOf(project), Times: timesOf(q),
		Search: ui.SearchProps{
			Action: q.path(), Query: q.text, Label: "Search calls", Placeholder: "Tool, server:github, outcome:failed, caller:name", Hidden: q.hidden("query"),
		},
		Filters:   len(q.clauses) > 0,
		ExportURL: q.path() + "/export?" + q.values().Encode(),
		AllURL:    q.path() + "?period=7d",
	}
	if len(q.clauses) > 0 {
		p.Search.Chips = q.chips(nil)
	}
	return p
}

// timesOf returns the controls of the period.
func timesOf(q *activityQuery) views.ActivityTimes {
	const form = "2006-01-02T15:04"
	t := views.ActivityTimes{
		Periods: q.periods(), Custom: q.times.custom(), Action: q.path(), Hidden: q.hidden("period", "from", "to", "zoom"),
		From: q.times.period.From.Format(form), To: q.times.period.To.Format(form), Step: q.times.axis().StepWords(),
		Compare: ui.Chip{Label: "Compare with the " + strings.ToLower(q.times.previousWords()), On: q.compare, URL: q.address(func(q *activityQuery) { q.compare = !q.compare })},
	}
	if before, ok := q.times.moved(q.times.period.Previous(), q.now); ok {
		t.PreviousURL = q.address(at(before))
	}
	if after, ok := q.times.moved(q.times.period.Next(), q.now); ok {
		t.NextURL = q.address(at(after))
	}
	if q.times.selected() {
		t.Selected = &views.ActivitySelected{
			From: q.times.from, To: q.times.to, ZoomURL: q.address(at(q.times.zoomed())),
			FailedURL: q.address(searching([]query.Clause{{Qualifier: "outcome", Value: "failed"}})) + "#list",
		}
	}
	if back, ok := q.times.out(); ok {
		t.BackURL = q.address(at(back))
	}
	return t
}

// fill loads the calls and the numbers of the page.
func (a *Activity) fill(ctx context.Context, p *views.ActivityProps, project *toolset.Snapshot, q *activityQuery, before string) error {
	if err := a.list(ctx, p, q, before); err != nil {
		return err
	}
	if len(p.Days) == 0 && !p.Filters {
		newest, err := a.Calls.Newest(ctx, q.filter.ProjectID)
		if err != nil {
			return err
		}
		p.Any = newest != noCall
	}
	return a.numbers(ctx, p, project, q)
}

// list loads a page of the list of calls.
func (a *Activity) list(ctx context.Context, p *views.ActivityProps, q *activityQuery, before string) error {
	calls, next, err := a.Calls.List(ctx, q.filter, before, activityRows)
	if err != nil {
		return err
	}
	p.Exported, err = exported(before == "" && next == "", len(calls), func(most int) (int, error) { return a.Calls.Count(ctx, q.filter, most) })
	if err != nil {
		return err
	}
	names := NewCallers(a.Keys, a.People)
	var rows []views.ActivityRow
	for _, call := range calls {
		rows = append(rows, rowOf(call, q, names.Of(ctx, call.Principal)))
	}
	p.Days, p.Rows = daysOf(rows), len(rows)
	p.Pager.Shown = ui.Plural(len(calls), "call", "calls") + " shown"
	if next != "" {
		cursor, err := a.Cursors.Seal(q.binding(), activityRevision, next)
		if err != nil {
			return err
		}
		p.Pager.NextURL = q.address() + "&cursor=" + url.QueryEscape(cursor)
	}
	return nil
}

// Export serves GET /admin/projects/:projectSlug/activity/export?format=&after=: all
// matching calls as one file, oldest first.
func (a *Activity) Export(c *fiber.Ctx) error {
	project, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	asked, err := a.parseQuery(c, project)
	if err != nil {
		return err
	}
	format, err := export.ParseFormat(c.Query("format"))
	if err != nil {
		return err
	}
	after, err := export.ParseCallPosition(c.Query("after"))
	if err != nil {
		return err
	}
	slug := project.Project.Slug
	file := export.Calls(a.Calls, asked.filter, func(string) string { return slug }, format, after)
	return web.SendFile(c, format.MediaType(), slug+"-calls."+string(format), file)
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
	if server := project.Server(call.Server); server != nil {
		_, props.ServerProblem = a.Pages.Health.StateOf(server)
	}
	props.Frame = a.Pages.ProjectFrame(c, project, layout.TabActivity, "Call", layout.Crumb{Label: toolWords(call.Tool)})
	if props.Owner() {
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

// records reports whether a project stores the arguments and results of calls.
func records(project *toolset.Snapshot) bool {
	return project.Project.RecordPayloads && project.Project.RetentionPayloads > 0
}

func retentionOf(project *toolset.Snapshot) views.Retention {
	row := project.Project
	return views.Retention{Calls: row.RetentionCalls, Payloads: min(row.RetentionPayloads, row.RetentionCalls), Runs: row.RetentionRuns}
}

// callProps converts a call for its page.
func callProps(project *toolset.Snapshot, call models.Call, caller string) views.ActivityCallProps {
	slug := project.Project.Slug
	props := views.ActivityCallProps{
		Slug: slug, At: call.At, Tool: toolWords(call.Tool), Server: call.Server, Builtin: activity.ServerOf(call) == activity.ServerBuiltin, Caller: caller, Outcome: string(call.Outcome), Code: call.Code,
		Duration: time.Duration(call.DurationUS) * time.Microsecond, RequestBytes: call.RequestBytes, ResponseBytes: call.ResponseBytes, RequestID: call.RequestID, Recorded: records(project), Kept: retentionOf(project),
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
