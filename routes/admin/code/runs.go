package code

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin/observe"
	"mcpgateway/routes/frame"
	"mcpgateway/services/codemode"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Limits of the pages of runs.
const (
	runsPerPage = 50
	maxShown    = 24 << 10 // bytes of a result or log; planned arguments use an eighth
)

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
	props := views.CodeRunsProps{
		Frame: a.Pages.ProjectFrame(c, p, layout.TabCodeMode, "Runs of code", layout.Crumb{Label: "Runs of code"}), Project: a.Pages.Head(p, layout.TabCodeMode), Now: a.Now(),
		State: c.Query("state"), Any: len(rows) > 0, Later: before != "",
	}
	a.fillRuns(c.UserContext(), &props, slices.DeleteFunc(rows, func(r models.CodeRun) bool {
		return before != "" && r.ID >= before || props.State == "ok" && !r.OK || props.State == "failed" && r.OK
	}))
	return web.Render(c, views.CodeRuns(props))
}

// fillRuns adds the first page of rows and the URL of the next page.
func (a *Pages) fillRuns(ctx context.Context, props *views.CodeRunsProps, rows []models.CodeRun) {
	if len(rows) > runsPerPage {
		rows = rows[:runsPerPage]
		props.NextURL = paths.CodeRuns(props.Project.Slug) + "?" + url.Values{"state": {props.State}, "before": {rows[runsPerPage-1].ID}}.Encode()
	}
	names := observe.NewCallers(a.Keys, a.People)
	for _, row := range rows {
		props.Rows = append(props.Rows, codeRunRow(row, names.Of(ctx, row.Principal)))
	}
}

func codeRunRow(r models.CodeRun, by string) views.CodeRunRow {
	return views.CodeRunRow{ID: r.ID, At: r.At, By: by, OK: r.OK, Phase: r.Phase, Calls: r.Calls, MS: r.DurationMS, DryRun: r.DryRun}
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
			return web.Render(c, views.CodeRunKept(paths.CodeTrace(p.Project.Slug, row.ID)))
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
	by := observe.NewCallers(a.Keys, a.People).Of(c.UserContext(), row.Principal)
	return web.Render(c, views.CodeTrace(views.CodeTraceProps{
		Frame: a.Pages.ProjectFrame(c, p, layout.TabCodeMode, "Run of code", layout.Crumb{Label: "Run of code"}), Project: a.Pages.Head(p, layout.TabCodeMode), Now: a.Now(),
		On: p.Project.CodeModeEnabled, Run: codeRunRow(row, by), Code: row.Code, Input: row.Input, NoInput: row.InputCut, SeedAt: row.SeedAt,
		Timeout: ui.Seconds(row.TimeoutMS), Outcome: outcomeOf(row), Error: problem,
	}))
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

// outcomeOf returns the outcome of a stored run.
func outcomeOf(row models.CodeRun) views.CodeOutcome {
	var out codemode.Outcome
	if json.Unmarshal([]byte(row.Outcome), &out) != nil {
		out = codemode.Outcome{} // the columns below are still valid
	}
	out.OK, out.Usage.MS = row.OK, row.DurationMS
	shown := shownOutcome(out, row.Code)
	shown.DryRun = row.DryRun
	return shown
}

// shownOutcome converts an outcome for its page.
func shownOutcome(out codemode.Outcome, code string) views.CodeOutcome {
	shown := views.CodeOutcome{OK: out.OK, MS: out.Usage.MS, CPUMillis: out.Usage.CPUMillis, Memory: out.Usage.MemoryBytes}
	if result := string(out.Result); result == "" || result == "null" {
		shown.NoResult = true
	} else {
		text := readable(out.Result)
		shown.Result = ui.Beginning(text, maxShown)
		if len(shown.Result) < len(text) {
			shown.ResultCut = len(text)
		}
	}
	var logs strings.Builder
	for _, l := range out.Logs {
		fmt.Fprintf(&logs, "%5d ms  %-5s  %s\n", l.MS, l.Level, ui.Clean(l.Text))
	}
	shown.Logs = ui.Beginning(logs.String(), maxShown)
	if t := out.Truncated; t != nil {
		shown.ResultCut, shown.LogsCut = max(shown.ResultCut, t.Result), t.Logs
	}
	for _, call := range out.Calls {
		shown.Calls = append(shown.Calls, codeCall(call))
	}
	for _, planned := range out.Plan {
		shown.Plan = append(shown.Plan, views.CodePlanned{Seq: planned.Seq, Tool: planned.Tool, Arguments: ui.Beginning(readable(planned.Arguments), maxShown/8)})
	}
	if e := out.Error; e != nil {
		shown.Error = &views.CodeError{
			Phase: string(e.Phase), Name: e.Name, Message: e.Message, Hint: e.Hint, Line: e.Line, Column: e.Column, Excerpt: views.Excerpt(code, e.Line),
		}
	} else if !out.OK {
		shown.Error = &views.CodeError{Name: "Error", Message: "The error was too large to keep."}
	}
	return shown
}

func codeCall(call codemode.CallRecord) views.CodeCall {
	return views.CodeCall{
		Seq: call.Seq, Tool: call.Tool, MS: call.MS, OK: call.OK, DryRun: call.DryRun, Error: call.Error, Effect: string(call.Effect),
		ArgsBytes: call.ArgsBytes, ResultSize: call.ResultBytes,
	}
}

// readable returns a JSON string as plain text and any other JSON indented.
func readable(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return ui.Clean(text)
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return ui.Clean(string(raw))
	}
	return ui.Clean(b.String())
}
