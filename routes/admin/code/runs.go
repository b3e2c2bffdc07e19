package code

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin/observe"
	"mcpgateway/routes/frame"
	"mcpgateway/services/codemode"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/code"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// runsPerPage is the number of runs on a page.
const runsPerPage = 50

// Runs serves GET …/code-mode/runs. ?state= filters by ok or failed.
func (a *Pages) Runs(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	rows, err := a.Traces.List(c.UserContext(), p.Project.ID, "", codemode.MaxTraces)
	if err != nil {
		return err
	}
	before := c.Query("before")
	props := views.RunsProps{
		Frame: a.frame(c, p, "Runs"), Slug: p.Project.Slug, Kept: p.Project.RetentionRuns, Now: a.Now(),
		State: c.Query("state"), Any: len(rows) > 0, Later: before != "",
	}
	a.fillRuns(c.UserContext(), &props, slices.DeleteFunc(rows, func(r models.CodeRun) bool {
		return before != "" && r.ID >= before || props.State == "ok" && !r.OK || props.State == "failed" && r.OK
	}))
	return web.Render(c, views.Runs(props))
}

// fillRuns adds the first page of rows and the URL of the next page.
func (a *Pages) fillRuns(ctx context.Context, props *views.RunsProps, rows []models.CodeRun) {
	if len(rows) > runsPerPage {
		rows = rows[:runsPerPage]
		props.NextURL = paths.CodeRuns(props.Slug) + "?" + url.Values{"state": {props.State}, "before": {rows[runsPerPage-1].ID}}.Encode()
	}
	names := observe.NewCallers(a.Keys, a.People)
	for _, row := range rows {
		props.Rows = append(props.Rows, runRow(row, names.Of(ctx, row.Principal)))
	}
}

func runRow(r models.CodeRun, by string) views.RunRow {
	return views.RunRow{ID: r.ID, At: r.At, By: by, OK: r.OK, Phase: r.Phase, Calls: r.Calls, MS: r.DurationMS, DryRun: r.DryRun, Recipe: r.Recipe}
}

// Trace serves GET …/code-mode/runs/:id.
func (a *Pages) Trace(c *fiber.Ctx) error {
	p, row, err := a.trace(c)
	if err != nil {
		return err
	}
	return a.tracePage(c, p, row, "")
}

// Timeout and interval of the wait for a stopped run to be stored.
const (
	awaitTimeout = 5 * time.Second
	pollInterval = 100 * time.Millisecond
)

// Kept serves GET …/code-mode/runs/:id/kept. It waits up to awaitTimeout for the run
// to be stored and returns a link to it, for the script of the page on which the
// run was stopped. It returns 204 for a run that is not stored, such as one that
// was never started.
func (a *Pages) Kept(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	ctx, cancel := context.WithTimeout(c.UserContext(), awaitTimeout)
	defer cancel()
	for {
		row, err := a.Traces.Get(ctx, p.Project.ID, c.Params("id"))
		if err == nil {
			return web.Render(c, views.Kept(paths.CodeTrace(p.Project.Slug, row.ID)))
		}
		select {
		case <-ctx.Done():
			return c.SendStatus(fiber.StatusNoContent)
		case <-time.After(pollInterval):
		}
	}
}

func (a *Pages) trace(c *fiber.Ctx) (*toolset.Snapshot, models.CodeRun, error) {
	p, err := a.Pages.Project(c)
	if err != nil {
		return nil, models.CodeRun{}, err
	}
	row, err := a.Traces.Get(c.UserContext(), p.Project.ID, c.Params("id"))
	return p, row, err
}

func (a *Pages) tracePage(c *fiber.Ctx, p *toolset.Snapshot, row models.CodeRun, problem string) error {
	slug, outcome := p.Project.Slug, outcomeOf(p, row)
	props := views.RunProps{
		Frame: runCrumbs(a.frame(c, p, "Run"), p), Slug: slug, Now: a.Now(), On: p.Project.CodeModeEnabled, Code: row.Code, Input: row.Input, NoInput: row.InputCut,
		Run: runRow(row, observe.NewCallers(a.Keys, a.People).Of(c.UserContext(), row.Principal)), SeedAt: row.SeedAt, Timeout: ui.Seconds(row.TimeoutMS), Outcome: outcome,
	}
	if props.Admin() && props.On && !row.InputCut {
		props.Replay = views.NewReplay(slug, row.ID, props.CSRF(), problem, outcome)
	}
	return web.Render(c, views.Run(props))
}

// Replay serves POST …/code-mode/runs/:id/replay. It runs the same code with the
// same input, clock and random numbers, on behalf of the administrator.
func (a *Pages) Replay(c *fiber.Ctx) error {
	p, row, err := a.trace(c)
	if err != nil {
		return err
	}
	here := paths.CodeTrace(p.Project.Slug, row.ID)
	out, err := a.replay(c, p, row)
	switch {
	case err != nil:
		return frame.Failed(c, here, err)
	case out.TraceID == "" && out.Error != nil:
		c.Status(fiber.StatusServiceUnavailable)
		return a.tracePage(c, p, row, out.Error.Message)
	case out.TraceID == "":
		return frame.Done(c, here, "Run replayed, but the new run couldn't be saved.")
	}
	return frame.Done(c, paths.CodeTrace(p.Project.Slug, out.TraceID), "Run replayed. This is the new run.")
}

// replay runs the code of a run again. If the project now has a shorter timeout,
// that timeout applies.
func (a *Pages) replay(c *fiber.Ctx, p *toolset.Snapshot, row models.CodeRun) (codemode.Outcome, error) {
	q, err := codemode.Replay(row)
	if err != nil {
		return codemode.Outcome{}, err
	}
	if allowed := time.Duration(p.Project.CodeModeTimeoutMS) * time.Millisecond; q.Timeout > allowed {
		q.Timeout = 0
	}
	return a.run(c, p, q)
}
