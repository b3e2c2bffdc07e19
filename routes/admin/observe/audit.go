package observe

import (
	"cmp"
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
	"mcpgateway/routes/admin"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/activity"
	"mcpgateway/services/activity/export"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	views "mcpgateway/views/admin"
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
	pages   *admin.ProjectPages
	log     *activity.Audit
	cursors *page.Cursors
}

// NewAudit returns the handlers. cursors seals the positions of pages.
func NewAudit(pages *admin.ProjectPages, log *activity.Audit, cursors *page.Cursors) *Audit {
	return &Audit{pages: pages, log: log, cursors: cursors}
}

// List serves GET /admin/audit with the filters ?actor=, action=, object=,
// project=, from= and to=, newest rows first. The days are in UTC and inclusive;
// since= is the former name of from=. ?verify=1 also verifies the whole log.
func (a *Audit) List(c *fiber.Ctx) (err error) {
	p := views.AuditProps{Frame: a.pages.Frame(c, "Audit log", layout.SectionAudit), Filter: filterOf(c)}
	mine := reach.Of(c.UserContext())
	if mine.AdministersAll() {
		p.ExportURL = withQuery(paths.AuditExport, asQuery(p.Filter))
	}
	p.Whole, p.Projects = mine.SeesAll(), a.projects(c.UserContext(), p.Filter.Project)
	if c.Query("verify") == "1" && p.Whole {
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
	return web.Render(c, views.Audit(p))
}

// fill adds one page of rows.
func (a *Audit) fill(ctx context.Context, p *views.AuditProps, cursor string) error {
	mine := reach.Of(ctx)
	filter, err := rowsOf(&p.Filter)
	if err != nil {
		return err
	}
	filter.Projects = mine.Only(a.pages.Directory.All())
	if err := mine.CheckFilter(filter.Actor, filter.Object); err != nil {
		return err
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
	if p.ExportURL != "" {
		whole := before == 0 && next == 0
		p.Exported, err = exported(whole, len(rows), func(most int) (int, error) { return a.log.Count(ctx, filter, most) })
		if err != nil {
			return err
		}
	}
	for _, row := range rows {
		addAuditRow(p, auditRowOf(mine.AuditRow(row)))
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

// Export serves GET /admin/audit/export?format=&after= with the filters of List: all
// matching rows as one file, oldest first.
func (a *Audit) Export(c *fiber.Ctx) error {
	entered := filterOf(c)
	filter, err := rowsOf(&entered)
	if err != nil {
		return err
	}
	format, err := export.ParseFormat(c.Query("format"))
	if err != nil {
		return err
	}
	after, err := export.ParseAuditPosition(c.Query("after"))
	if err != nil {
		return err
	}
	return web.SendFile(c, format.MediaType(), "audit."+string(format), export.Audit(a.log, filter, format, after))
}

// filterOf returns the filter in the query as entered.
func filterOf(c *fiber.Ctx) views.AuditFilter {
	return views.AuditFilter{
		Actor: trimmed(c, "actor"), Action: trimmed(c, "action"), Object: trimmed(c, "object"), Project: trimmed(c, "project"),
		From: cmp.Or(trimmed(c, "from"), trimmed(c, "since")), To: trimmed(c, "to"),
	}
}

// rowsOf returns the filter of rows. It clears an invalid day.
func rowsOf(entered *views.AuditFilter) (activity.Filter, error) {
	filter := activity.Filter{Actor: entered.Actor, Action: entered.Action, Object: entered.Object, Project: entered.Project}
	from, err := day(&entered.From)
	if err != nil {
		return filter, err
	}
	to, err := day(&entered.To)
	if err != nil {
		return filter, err
	}
	filter.Since = from
	if !to.IsZero() {
		filter.Until = to.AddDate(0, 0, 1)
	}
	return filter, nil
}

// day parses a day of the filter. It clears an invalid one, because a date field
// shows only valid dates.
func day(entered *string) (time.Time, error) {
	if *entered == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, *entered)
	if err != nil {
		*entered = ""
		return time.Time{}, fault.Invalid("Use a date like 2027-01-31.")
	}
	return at, nil
}

// addAuditRow adds a row to its day.
func addAuditRow(p *views.AuditProps, row views.AuditRow) {
	last := len(p.Days) - 1
	if last < 0 || p.Days[last].Rows[0].At.UTC().Format(time.DateOnly) != row.At.UTC().Format(time.DateOnly) {
		p.Days = append(p.Days, views.AuditDay{})
		last++
	}
	p.Days[last].Rows = append(p.Days[last].Rows, row)
}

// projects returns the projects to filter by, and the chosen one if it was
// deleted.
func (a *Audit) projects(ctx context.Context, chosen string) []ui.Option {
	options := []ui.Option{{Label: "All projects"}}
	found := chosen == ""
	for _, p := range a.pages.Visible(ctx) {
		options = append(options, ui.Option{Value: p.Project.Slug, Label: ui.Clean(cmp.Or(p.Project.Name, p.Project.Slug))})
		found = found || p.Project.Slug == chosen
	}
	if !found {
		options = append(options, ui.Option{Value: chosen, Label: ui.Clean(chosen)})
	}
	return options
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
func (a *Audit) verify(ctx context.Context) (*views.Verified, error) {
	found, err := a.log.Verify(ctx)
	switch {
	case errors.Is(err, activity.ErrTampered):
		return &views.Verified{Why: err.Error()}, nil
	case err != nil:
		return nil, err
	}
	return &views.Verified{OK: true, Count: found.Count - found.Removed, Removed: found.Removed, Head: found.Head}, nil
}

func auditRowOf(row models.AuditEntry) views.AuditRow {
	r := views.AuditRow{
		Seq: row.Seq, At: row.At, Actor: row.ActorName, Kind: row.ActorKind, IP: row.IP, Action: row.Action, Object: row.Object, Project: row.Project, Request: row.RequestID,
	}
	for _, name := range slices.Sorted(maps.Keys(row.Detail)) {
		r.Detail = append(r.Detail, ui.Fact{Label: ui.Clean(name), Value: ui.Clean(row.Detail[name])})
	}
	return r
}

// asQuery returns a filter as URL parameters.
func asQuery(f views.AuditFilter) url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"actor": f.Actor, "action": f.Action, "object": f.Object, "project": f.Project, "from": f.From, "to": f.To} {
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
