package keys

import (
	"cmp"
	"context"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/activity/traffic"
	views "mcpgateway/views/admin/keys"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// keysPerPage is the number of keys on a page.
const keysPerPage = 20

// List serves GET /admin/projects/:projectSlug/keys. ?show=unused and
// ?show=expired filter it.
func (a *Keys) List(c *fiber.Ctx) error {
	project, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	all, err := a.all(c.UserContext(), project.Project.ID)
	if err != nil {
		return err
	}
	p := views.ListProps{
		Frame: a.Pages.ProjectFrame(c, project, layout.TabKeys, "Keys"),
		Slug:  project.Project.Slug, AuthMode: string(project.Project.AuthMode), Now: a.Now(), Show: c.Query("show"),
	}
	choose(&p, all)
	cutPage(&p, c.QueryInt("page", 1))
	if err := a.count(c.UserContext(), project.Project.ID, p.Rows); err != nil {
		return err
	}
	return web.Render(c, views.List(p))
}

// all returns the keys of a project, newest first.
func (a *Keys) all(ctx context.Context, projectID string) ([]views.Key, error) {
	rows, err := a.Keys.List(ctx, projectID)
	if err != nil {
		return nil, err
	}
	ids, prefixes := make([]string, len(rows)), map[string]string{}
	for i, row := range rows {
		ids[i], prefixes[row.ID] = row.ID, row.Prefix
	}
	successors, err := a.Keys.Successors(ctx, ids)
	if err != nil {
		return nil, err
	}
	replaced := map[string]string{}
	for old, successor := range successors {
		replaced[successor] = old
	}
	other := func(id string) *views.Other {
		if prefixes[id] == "" {
			return nil
		}
		return &views.Other{ID: id, Prefix: prefixes[id]}
	}
	details, err := a.Keys.Details(ctx, rows...)
	if err != nil {
		return nil, err
	}
	found := make([]views.Key, len(rows))
	for i, row := range rows {
		found[i] = keyOf(row, details[row.ID])
		found[i].ReplacedBy, found[i].Replaces = other(successors[row.ID]), other(replaced[row.ID])
	}
	return found, nil
}

func keyOf(row models.Key, details keys.Details) views.Key {
	key := views.Key{
		ID: row.ID, Name: row.Name, Prefix: row.Prefix, CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt, LastUsedAt: row.LastUsedAt, RevokedAt: row.RevokedAt,
		Limited: details.Limited,
	}
	for _, t := range details.Toolsets {
		key.Toolsets = append(key.Toolsets, views.Toolset{Slug: t.Slug, Name: t.Name})
	}
	if details.Owner != nil {
		key.Owner = cmp.Or(details.Owner.Name, "Deleted user")
	}
	return key
}

// choose counts the keys and adds those that p.Show selects.
func choose(p *views.ListProps, all []views.Key) {
	for _, key := range all {
		usable := key.Usable(p.Now)
		unused := usable && key.LastUsedAt == nil
		selected := usable
		switch p.Show {
		case views.ShowUnused:
			selected = unused
		case views.ShowExpired:
			selected = !usable
		default:
			p.Show = views.ShowActive
		}
		switch {
		case !usable:
			p.Expired++
		case unused:
			p.Unused++
			p.Active++
		default:
			p.Active++
		}
		if selected {
			p.Rows = append(p.Rows, views.Row{Key: key})
		}
	}
}

// count sets the calls of the last 7 days. They are unknown for keys beyond the
// callers with the most calls.
func (a *Keys) count(ctx context.Context, projectID string, rows []views.Row) error {
	period, _ := traffic.Last("7d", a.Now())
	top, err := a.Traffic.Top(ctx, traffic.Filter{ProjectID: projectID}, period, traffic.ByCaller, traffic.MaxRows)
	if err != nil {
		return err
	}
	calls := map[string]int{}
	for _, row := range top {
		calls[row.Name] = row.Calls
	}
	for i := range rows {
		n, counted := calls[keys.Principal(rows[i].ID)]
		rows[i].Calls, rows[i].Counted = n, counted || len(top) < traffic.MaxRows
	}
	return nil
}

// cutPage reduces p.Rows to one page and sets the pager.
func cutPage(p *views.ListProps, page int) {
	all := len(p.Rows)
	pages := max((all+keysPerPage-1)/keysPerPage, 1)
	page = min(max(page, 1), pages)
	address := func(page int) string {
		at := p.URL(p.Show)
		if page == 1 {
			return at
		}
		if p.Show != views.ShowActive {
			return at + "&page=" + strconv.Itoa(page)
		}
		return at + "?page=" + strconv.Itoa(page)
	}
	p.Rows = p.Rows[(page-1)*keysPerPage : min(page*keysPerPage, all)]
	p.Pager.Shown = ui.Plural(all, "key", "keys")
	if page > 1 {
		p.Pager.FirstURL, p.Pager.PreviousURL = address(1), address(page-1)
	}
	if page < pages {
		p.Pager.NextURL = address(page + 1)
	}
}
