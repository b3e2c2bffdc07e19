package observe

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// auditPerPage is the number of rows on a page.
const auditPerPage = 40

// auditRevision is the constant cursor revision of a log whose rows never change.
const auditRevision = "1"

// Audit serves the audit log.
type Audit struct {
	pages   *frame.Pages
	log     *activity.Audit
	cursors *page.Cursors
	now     func() time.Time
}

// NewAudit returns the handlers. cursors seals the positions of pages.
func NewAudit(pages *frame.Pages, log *activity.Audit, cursors *page.Cursors, now func() time.Time) *Audit {
	return &Audit{pages: pages, log: log, cursors: cursors, now: now}
}

// List serves GET /admin/audit with the filters ?actor=, action=, object=,
// project= and since=, newest rows first. ?verify=1 also verifies the whole log.
func (a *Audit) List(c *fiber.Ctx) (err error) {
	p := admin.AuditProps{Frame: a.pages.Frame(c, "Audit log", layout.SectionAudit), Now: a.now(), Filter: admin.AuditFilter{
		Actor: trimmed(c, "actor"), Action: trimmed(c, "action"), Object: trimmed(c, "object"), Project: trimmed(c, "project"), Since: trimmed(c, "since"),
	}}
	if c.Query("verify") == "1" {
		if p.Verified, err = a.verify(c.UserContext()); err != nil {
			return err
		}
	}
	if err := a.fill(c.UserContext(), &p, c.Query("cursor")); err != nil {
		f := fault.From(err)
		if f.Kind != fault.KindInvalid && f.Kind != fault.KindValidation && f.Kind != fault.KindConflict {
			return err
		}
		p.Problem = f.Message
		c.Status(web.StatusOf(err))
	}
	return web.Render(c, admin.Audit(p))
}

// fill adds one page of rows.
func (a *Audit) fill(ctx context.Context, p *admin.AuditProps, cursor string) error {
	filter := activity.Filter{Actor: p.Filter.Actor, Action: p.Filter.Action, Object: p.Filter.Object, Project: p.Filter.Project}
	if p.Filter.Since != "" {
		day, err := time.Parse(time.DateOnly, p.Filter.Since)
		if err != nil {
			p.Filter.Since = "" // a date field shows only valid dates
			return fault.Invalid("Use a date like 2027-01-31.")
		}
		filter.Since = day
	}
	asked := asQuery(p.Filter)
	binding := page.Binding{Surface: "audit page", Query: asked.Encode()}
	before, err := a.open(binding, cursor)
	if err != nil {
		return err
	}
	if cursor != "" {
		p.Pager.FirstURL = withQuery(paths.Audit, asked)
	}
	rows, next, err := a.log.List(ctx, filter, before, auditPerPage)
	if err != nil {
		return err
	}
	for _, row := range rows {
		p.Rows = append(p.Rows, auditRowOf(row))
	}
	p.Pager.Shown = ui.Plural(len(rows), "row", "rows")
	if next == 0 {
		return nil
	}
	sealed, err := a.cursors.Seal(binding, auditRevision, strconv.FormatInt(next, 10))
	if err != nil {
		return err
	}
	asked.Set("cursor", sealed)
	p.Pager.NextURL = withQuery(paths.Audit, asked)
	return nil
}

// open returns the row number that a cursor continues from; 0 means the newest.
func (a *Audit) open(binding page.Binding, cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	position, err := a.cursors.Open(binding, auditRevision, cursor)
	if err != nil {
		return 0, err
	}
	before, err := strconv.ParseInt(position, 10, 64)
	if err != nil {
		return 0, fault.Internal(err)
	}
	return before, nil
}

// verify verifies the whole log. A tampered log is a result, not an error.
func (a *Audit) verify(ctx context.Context) (*admin.Verified, error) {
	found, err := a.log.Verify(ctx)
	switch {
	case errors.Is(err, activity.ErrTampered):
		return &admin.Verified{Why: err.Error()}, nil
	case err != nil:
		return nil, err
	}
	return &admin.Verified{OK: true, Count: found.Count, Head: found.Head}, nil
}

func auditRowOf(row models.AuditEntry) admin.AuditRow {
	r := admin.AuditRow{
		Seq: row.Seq, At: row.At, Actor: row.ActorName, Kind: row.ActorKind, IP: row.IP, Action: row.Action, Object: row.Object, Project: row.Project, Request: row.RequestID,
	}
	for _, name := range slices.Sorted(maps.Keys(row.Detail)) {
		r.Detail = append(r.Detail, ui.Fact{Label: ui.Clean(name), Value: ui.Clean(row.Detail[name])})
	}
	if row.RequestID != "" {
		r.Detail = append(r.Detail, ui.Fact{Label: "request", Value: row.RequestID, Mono: true})
	}
	return r
}

// asQuery returns a filter as URL parameters.
func asQuery(f admin.AuditFilter) url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"actor": f.Actor, "action": f.Action, "object": f.Object, "project": f.Project, "since": f.Since} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

func withQuery(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

func trimmed(c *fiber.Ctx, name string) string { return strings.TrimSpace(c.Query(name)) }
