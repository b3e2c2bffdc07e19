package api

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/activity"
	"mcpgateway/services/activity/export"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
)

// CallLog lists tool calls.
type CallLog interface {
	List(ctx context.Context, f activity.CallFilter, before string, limit int) ([]models.Call, string, error)
	Between(ctx context.Context, f activity.CallFilter, after, through string, limit int) ([]models.Call, error)
}

// CallProjects returns the projects of calls.
type CallProjects interface {
	Directory
	ProjectByID(id string) *toolset.Snapshot
	All() []*toolset.Snapshot
}

// Calls serves the call log.
type Calls struct {
	log      CallLog
	projects CallProjects
	cursors  *page.Cursors
}

// NewCalls returns the handler. cursors seals page positions.
func NewCalls(log CallLog, projects CallProjects, cursors *page.Cursors) *Calls {
	return &Calls{log: log, projects: projects, cursors: cursors}
}

// callParameters are the query parameters of GET /api/calls.
var callParameters = []string{"project", "tool", "server", "outcome", "principal", "since", "until", "limit", "cursor", "format", "after"}

// callRevision is the constant revision of a log whose rows never change.
const callRevision = "1"

// List serves GET /api/calls, newest calls first, as pages of JSON, or
// oldest first as a file. Cursors continue after the last call of a page, regardless of new
// calls, and are bound to their filter.
func (h *Calls) List(c *fiber.Ctx) error {
	filter, bound, err := h.filter(c)
	if err != nil {
		return err
	}
	format, err := fileFormat(c)
	if err != nil {
		return err
	}
	if format != "" {
		return h.download(c, filter, format)
	}
	return h.page(c, filter, bound)
}

// page responds with one page of calls as JSON.
func (h *Calls) page(c *fiber.Ctx, filter activity.CallFilter, bound page.Binding) error {
	limit, err := page.Range{Name: "limit", Min: 1, Max: maxListLimit, Default: defaultListLimit}.Parse(c.Query("limit"))
	if err != nil {
		return err
	}
	before := ""
	if cursor := c.Query("cursor"); cursor != "" {
		if before, err = h.cursors.Open(bound, callRevision, cursor); err != nil {
			return err
		}
	}
	calls, next, err := h.log.List(c.UserContext(), filter, before, limit)
	if err != nil {
		return err
	}
	return h.answer(c, bound, calls, next)
}

func (h *Calls) answer(c *fiber.Ctx, bound page.Binding, calls []models.Call, next string) error {
	answer := listAnswer[export.CallRecord]{Items: make([]export.CallRecord, 0, len(calls)), Count: len(calls)}
	for _, call := range calls {
		answer.Items = append(answer.Items, export.NewCallRecord(call, h.slug(call.ProjectID)))
	}
	if next != "" {
		cursor, err := h.cursors.Seal(bound, callRevision, next)
		if err != nil {
			return err
		}
		answer.NextCursor = &cursor
	}
	return c.JSON(answer)
}

// download responds with a file. It has no pages.
func (h *Calls) download(c *fiber.Ctx, filter activity.CallFilter, format export.Format) error {
	if err := withoutPages(c); err != nil {
		return err
	}
	after, err := export.ParseCallPosition(c.Query("after"))
	if err != nil {
		return err
	}
	return web.SendFile(c, format.MediaType(), "calls."+string(format), export.Calls(h.log, filter, h.slug, format, after))
}

// slug returns the slug of a project, or "" if it was deleted.
func (h *Calls) slug(projectID string) string {
	if p := h.projects.ProjectByID(projectID); p != nil {
		return p.Project.Slug
	}
	return ""
}

// filter returns the filter in the query and the binding of its cursors.
// Unknown parameters are rejected, because a mistyped filter would return
// everything.
func (h *Calls) filter(c *fiber.Ctx) (f activity.CallFilter, bound page.Binding, err error) {
	for name := range c.Request().URI().QueryArgs().All() {
		if !slices.Contains(callParameters, string(name)) {
			return f, bound, fault.Invalid("Unknown parameter %.64q. Use %s.", name, strings.Join(callParameters, ", "))
		}
	}
	f = activity.CallFilter{Principal: c.Query("principal"), Tool: c.Query("tool"), Server: c.Query("server"), Outcome: models.Outcome(c.Query("outcome"))}
	outcomes := []models.Outcome{"", models.CallOK, models.CallToolError, models.CallFailed, models.CallCancelled}
	if !slices.Contains(outcomes, f.Outcome) {
		return f, bound, fault.Invalid("outcome must be ok, tool_error, error or cancelled.")
	}
	mine := reach.Of(c.UserContext())
	f.Projects = mine.Only(h.projects.All())
	if slug := c.Query("project"); slug != "" {
		project, err := h.projects.Project(slug)
		if err == nil && !mine.Sees(&project.Project) {
			err = fault.NotFound("project", slug)
		}
		if err != nil {
			return f, bound, err
		}
		f.ProjectID = project.Project.ID
	}
	for name, at := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		if text := c.Query(name); text != "" {
			if *at, err = time.Parse(time.RFC3339, text); err != nil {
				return f, bound, fault.Invalid("%s must be a time such as 2027-01-31T12:00:00Z.", name)
			}
		}
	}
	query := url.Values{
		"principal": {f.Principal}, "tool": {f.Tool}, "server": {f.Server}, "outcome": {string(f.Outcome)},
		"since": {f.Since.UTC().String()}, "until": {f.Until.UTC().String()},
	}
	return f, page.Binding{Surface: "calls", Scope: f.ProjectID, Query: query.Encode()}, nil
}
