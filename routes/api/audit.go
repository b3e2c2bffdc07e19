package api

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/activity"
	"mcpgateway/services/activity/export"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/web"
)

// AuditLog lists audit entries.
type AuditLog interface {
	List(ctx context.Context, f activity.Filter, before int64, limit int) ([]models.AuditEntry, int64, error)
	Between(ctx context.Context, f activity.Filter, after, through int64, limit int) ([]models.AuditEntry, error)
}

// Audit serves the audit log.
type Audit struct {
	log      AuditLog
	projects CallProjects
	cursors  *page.Cursors
}

// NewAudit returns the handler. cursors seals page positions.
func NewAudit(log AuditLog, projects CallProjects, cursors *page.Cursors) *Audit {
	return &Audit{log: log, projects: projects, cursors: cursors}
}

type auditRecord struct {
	Seq       int64             `json:"seq"`
	At        time.Time         `json:"at"`
	Actor     actorRecord       `json:"actor"`
	RequestID string            `json:"requestId"`
	Action    string            `json:"action"`
	Object    string            `json:"object"`
	ObjectID  string            `json:"objectId"`
	Project   string            `json:"projectSlug"`
	Detail    map[string]string `json:"detail"`
}

type actorRecord struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Name string `json:"name"`
	IP   string `json:"ip"`
}

func auditRecords(mine reach.Reach, rows []models.AuditEntry) []auditRecord {
	records := make([]auditRecord, len(rows))
	for i, row := range rows {
		records[i] = auditOf(mine.AuditRow(row))
	}
	return records
}

func auditOf(row models.AuditEntry) auditRecord {
	detail := map[string]string(row.Detail)
	if detail == nil {
		detail = map[string]string{}
	}
	return auditRecord{
		Seq: row.Seq, At: row.At, Actor: actorRecord{Kind: row.ActorKind, ID: row.ActorID, Name: row.ActorName, IP: row.IP}, RequestID: row.RequestID,
		Action: row.Action, Object: row.Object, ObjectID: row.ObjectID, Project: row.Project, Detail: detail,
	}
}

// auditParameters are the query parameters of GET /api/audit.
var auditParameters = []string{"actor", "action", "object", "project", "since", "until", "limit", "cursor", "format", "after"}

// List serves GET /api/audit, newest rows first, or oldest first as a file for
// administrators. Cursors continue after the last row of a page, regardless of new
// rows, and are bound to their filter.
func (a *Audit) List(c *fiber.Ctx) error {
	filter, bound, err := auditFilter(c)
	if err != nil {
		return err
	}
	mine := reach.Of(c.UserContext())
	filter.Projects = mine.Only(a.projects.All())
	if err := mine.CheckFilter(filter.Actor, filter.Object); err != nil {
		return err
	}
	format, err := fileFormat(c)
	if err != nil {
		return err
	}
	if format != "" {
		return a.download(c, filter, format)
	}
	return a.page(c, filter, bound)
}

// download responds with a file. It has no pages.
func (a *Audit) download(c *fiber.Ctx, filter activity.Filter, format export.Format) error {
	if !reach.Of(c.UserContext()).AdministersAll() {
		return fault.Forbidden("Only administrators export the audit log.")
	}
	if err := withoutPages(c); err != nil {
		return err
	}
	after, err := export.ParseAuditPosition(c.Query("after"))
	if err != nil {
		return err
	}
	return web.SendFile(c, format.MediaType(), "audit."+string(format), export.Audit(a.log, filter, format, after))
}

// page responds with one page of rows as JSON.
func (a *Audit) page(c *fiber.Ctx, filter activity.Filter, bound page.Binding) error {
	limit, err := page.Range{Name: "limit", Min: 1, Max: maxListLimit, Default: defaultListLimit}.Parse(c.Query("limit"))
	if err != nil {
		return err
	}
	before, err := a.position(bound, c.Query("cursor"))
	if err != nil {
		return err
	}
	rows, next, err := a.log.List(c.UserContext(), filter, before, limit)
	if err != nil {
		return err
	}
	answer := listAnswer[auditRecord]{Items: auditRecords(reach.Of(c.UserContext()), rows), Count: len(rows)}
	if answer.NextCursor, err = a.cursor(bound, next); err != nil {
		return err
	}
	return c.JSON(answer)
}

// auditFilter returns the filter in the query and the binding of its cursors.
// Unknown parameters are rejected, because a mistyped filter would return
// everything.
func auditFilter(c *fiber.Ctx) (activity.Filter, page.Binding, error) {
	for name := range c.Request().URI().QueryArgs().All() {
		if !slices.Contains(auditParameters, string(name)) {
			return activity.Filter{}, page.Binding{}, fault.Invalid("Unknown parameter %.64q. Use %s.", name, "actor, action, object, project, since, until, limit, cursor, format or after")
		}
	}
	f := activity.Filter{Actor: c.Query("actor"), Action: c.Query("action"), Object: c.Query("object"), Project: c.Query("project")}
	for name, at := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		if text := c.Query(name); text != "" {
			moment, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return f, page.Binding{}, fault.Invalid("%s must be a time such as 2027-01-31T12:00:00Z.", name)
			}
			*at = moment
		}
	}
	query := url.Values{
		"actor": {f.Actor}, "action": {f.Action}, "object": {f.Object}, "project": {f.Project},
		"since": {f.Since.UTC().String()}, "until": {f.Until.UTC().String()},
	}
	return f, page.Binding{Surface: "audit", Query: query.Encode()}, nil
}

// auditRevision is the constant revision of a log whose rows never change.
const auditRevision = "1"

// position returns the position in the cursor, or 0 without one.
func (a *Audit) position(bound page.Binding, cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	position, err := a.cursors.Open(bound, auditRevision, cursor)
	if err != nil {
		return 0, err
	}
	before, err := strconv.ParseInt(position, 10, 64)
	if err != nil {
		return 0, fault.Internal(err)
	}
	return before, nil
}

func (a *Audit) cursor(bound page.Binding, next int64) (*string, error) {
	if next == 0 {
		return nil, nil // last page
	}
	cursor, err := a.cursors.Seal(bound, auditRevision, strconv.FormatInt(next, 10))
	return &cursor, err
}
