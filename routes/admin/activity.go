package admin

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// activityRows is how many calls one page lists.
const activityRows = 40

// activityTime is how long a page may look for calls.
const activityTime = 15 * time.Second

// ActivityKeys finds the keys that called; keys.Store says how.
type ActivityKeys interface {
	Get(ctx context.Context, id string) (models.Key, error)
	List(ctx context.Context, projectID string) ([]models.Key, error)
}

// ActivityPeople finds the people whose clients called, and who still looks on;
// access.People says how.
type ActivityPeople interface {
	Get(ctx context.Context, id string) (access.Person, error)
	List(ctx context.Context) ([]access.Person, error)
	WatchingSession(ctx context.Context, cookie string) (access.SessionInfo, error)
}

// ActivityOptions are what the pages of the calls work with. All but Poll and
// KeepAlive must be set.
type ActivityOptions struct {
	Pages     *Pages
	Guards    *guard.Guards
	Directory ProjectDirectory
	Health    HealthSource
	Calls     *activity.Calls
	Keys      ActivityKeys
	People    ActivityPeople
	Cursors   *page.Cursors

	Poll      time.Duration // between looks for new calls while a page is open; 0 is a second
	KeepAlive time.Duration // between looks whether a page may stay open; 0 is 15 s
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

// OpenStreams returns how many pages follow the calls as they come.
func (a *Activity) OpenStreams() int { return a.live.count() }

func activityPath(slug string) string { return projectPath(slug) + "/activity" }

// Page serves GET /admin/projects/:projectSlug/activity?period=&query=&cursor=.
// A cursor that leads nowhere leads to the first page.
func (a *Activity) Page(c *fiber.Ctx) error {
	project, err := a.Directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	asked, err := a.asked(c, project)
	props := a.props(c, project, asked)
	if f := fault.From(err); err != nil && f.Kind != fault.KindInvalid {
		return err
	} else if err != nil {
		props.Failed, props.Search.Error = true, queryError(err)
		if c.Get("HX-Request") != "true" {
			c.Status(web.StatusOf(err))
		}
		return web.Render(c, views.Activity(props))
	}
	before := ""
	if cursor := c.Query("cursor"); cursor != "" {
		if before, err = a.Cursors.Open(asked.binding(), activityRevision, cursor); err != nil {
			return c.Redirect(asked.address(), fiber.StatusSeeOther)
		}
		props.LiveURL, props.Pager.FirstURL = "", asked.address()
	}
	ctx, cancel := context.WithTimeout(c.UserContext(), activityTime)
	defer cancel()
	if err := a.fill(ctx, &props, asked, before); err != nil {
		if ctx.Err() != nil {
			return fault.New(fault.KindUnavailable, fault.CodeUnavailable, "looking through the calls took too long: choose a shorter period").Because(err)
		}
		return err
	}
	return web.Render(c, views.Activity(props))
}

// props returns what the page shows before anything is looked for.
func (a *Activity) props(c *fiber.Ctx, project *toolset.Snapshot, q *activityQuestion) views.ActivityProps {
	return views.ActivityProps{
		Frame:   a.Pages.Frame(c, title(project, "Activity"), layout.SectionProjects),
		Project: headOf(project, a.Health, layout.TabActivity), Now: q.now, Period: q.period.words, Periods: q.periods(), Any: true,
		Search: ui.SearchProps{
			Action: q.path(), Query: q.text, Label: "Search the calls", Placeholder: "tool, server:github, outcome:failed, caller:name", Live: true,
			Hidden: []ui.Pair{{Name: "period", Value: q.period.name}}, Chips: q.chips(),
		},
		Filters: len(q.clauses) > 0, LiveURL: q.path() + "/live" + q.values("query").encoded(),
		CSVURL: q.path() + "/export" + q.values("query", "period").with("format", "csv"), JSONURL: q.path() + "/export" + q.values("query", "period").with("format", "json"),
		AllURL: q.path() + "?period=7d", Recorded: project.Project.RecordPayloads,
	}
}

// fill looks for the calls and what they show together.
func (a *Activity) fill(ctx context.Context, p *views.ActivityProps, q *activityQuestion, before string) error {
	calls, next, err := a.Calls.List(ctx, q.filter, before, activityRows)
	if err != nil {
		return err
	}
	names := newCallers(a.Keys, a.People)
	for _, call := range calls {
		p.Rows = append(p.Rows, rowOf(call, q, names.of(ctx, call.Principal)))
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

// any reports whether anything is kept of the project.
func (a *Activity) any(ctx context.Context, projectID string) (bool, error) {
	calls, _, err := a.Calls.List(ctx, activity.CallFilter{ProjectID: projectID}, "", 1)
	return len(calls) > 0, err
}

// Export serves GET /admin/projects/:projectSlug/activity/export: the calls
// that the page finds, as one file.
func (a *Activity) Export(c *fiber.Ctx) error {
	project, err := a.Directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	asked, err := a.asked(c, project)
	if err != nil {
		return err
	}
	slug := func(string) string { return project.Project.Slug }
	var file *activity.Export
	media, name := "text/csv; charset=utf-8; header=present", project.Project.Slug+"-calls.csv"
	switch c.Query("format") {
	case "csv":
		file = a.Calls.ExportCSV(c.UserContext(), asked.filter, slug)
	case "json":
		file = a.Calls.ExportJSON(c.UserContext(), asked.filter, slug)
		media, name = fiber.MIMEApplicationJSON, project.Project.Slug+"-calls.json"
	default:
		return fault.Invalid("format must be json or csv")
	}
	first, err := file.Next() // so that a failure is still answered as one
	if err != nil {
		return err
	}
	pieces := [][]byte{first}
	web.Download(c, media, name, func() ([]byte, error) {
		if len(pieces) > 0 {
			piece := pieces[0]
			pieces = nil
			return piece, nil
		}
		return file.Next()
	})
	return nil
}

// Call serves GET /admin/projects/:projectSlug/activity/:id.
func (a *Activity) Call(c *fiber.Ctx) error {
	project, err := a.Directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	ctx := c.UserContext()
	call, err := a.Calls.Get(ctx, project.Project.ID, c.Params("id"))
	if err != nil {
		return err
	}
	slug := project.Project.Slug
	props := views.ActivityCallProps{
		Frame: a.Pages.Frame(c, title(project, "One call"), layout.SectionProjects), Slug: slug,
		At: call.At, Tool: toolWords(call.Tool), Server: call.Server, Builtin: activity.ServerOf(call) == activity.ServerBuiltin, Caller: newCallers(a.Keys, a.People).of(ctx, call.Principal), Outcome: string(call.Outcome), Code: call.Code,
		Duration: time.Duration(call.DurationUS) * time.Microsecond, RequestBytes: call.RequestBytes, ResponseBytes: call.ResponseBytes, RequestID: call.RequestID, Recorded: project.Project.RecordPayloads,
		SameURL: activityPath(slug) + "?" + url.Values{"query": {clauseText("tool", call.Tool)}, "period": {"7d"}}.Encode(),
	}
	if server := project.Server(call.Server); server != nil {
		props.ServerURL = serverPath(slug, server.Config.ID)
	}
	if slices.ContainsFunc(project.AllTools(), func(t *toolset.Tool) bool { return t.FullName == call.Tool }) {
		props.ToolURL = toolPath(slug, call.Tool)
	}
	if props.Admin() {
		payload, err := a.Calls.Payload(ctx, call.ID)
		if err != nil {
			return err
		}
		if payload != nil {
			props.Payload = &views.ActivityPayload{
				Arguments: payload.Arguments, ArgumentsCut: payload.ArgumentsCut, Answer: payload.Answer, AnswerCut: payload.AnswerCut,
			}
		}
	}
	return web.Render(c, views.ActivityCall(props))
}
