package admin

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// KeyKeeper keeps the keys of projects; keys.Store says how.
type KeyKeeper interface {
	List(ctx context.Context, projectID string) ([]models.Key, error)
	Create(ctx context.Context, projectID, name string, lifetime time.Duration) (models.Key, secrets.Value, error)
	Rotate(ctx context.Context, projectID, id string, grace time.Duration) (models.Key, secrets.Value, error)
	Revoke(ctx context.Context, projectID, id string) error
}

// Keys serves the keys of a project.
type Keys struct {
	pages     *Pages
	directory ProjectDirectory
	health    HealthSource
	keys      KeyKeeper
	seal      Sealer
	now       func() time.Time
}

// NewKeys returns the handlers. seal seals new keys for the page that shows
// them.
func NewKeys(pages *Pages, directory ProjectDirectory, health HealthSource, keys KeyKeeper, seal Sealer, now func() time.Time) *Keys {
	return &Keys{pages: pages, directory: directory, health: health, keys: keys, seal: seal, now: now}
}

// keysPerPage is how many keys one page lists.
const keysPerPage = 20

// neverExpires is what a form says for a key without an end.
const neverExpires = "never"

// graces are how long a key may work beside its successor.
var graces = map[string]time.Duration{"0s": 0, "1h": time.Hour, "24h": 24 * time.Hour, "168h": 168 * time.Hour}

// List serves GET /admin/projects/:projectSlug/keys. Keys that ended are shown
// with ?ended=1.
func (a *Keys) List(c *fiber.Ctx) error {
	return a.page(c, admin.KeysProps{Ended: c.Query("ended") == "1", Expires: "90"})
}

// Create serves POST /admin/projects/:projectSlug/keys. The page of the key
// shows it, once.
func (a *Keys) Create(c *fiber.Ctx) error {
	project, err := a.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	p := admin.KeysProps{Name: strings.TrimSpace(posted(c, "name")), Expires: posted(c, "expires")}
	lifetime, err := lifetimeOf(p.Name, p.Expires)
	var row models.Key
	var text secrets.Value
	if err == nil {
		row, text, err = a.keys.Create(c.UserContext(), project.Project.ID, p.Name, lifetime)
	}
	if err != nil {
		fields, ok := Fields(c, err)
		if !ok {
			return err
		}
		p.Errors = fields
		return a.page(c, p)
	}
	return a.created(c, row, text, "")
}

// Rotate serves POST /admin/projects/:projectSlug/keys/:id/rotate. The page of
// the new key shows it, once.
func (a *Keys) Rotate(c *fiber.Ctx) error {
	project, err := a.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	grace, known := graces[posted(c, "grace")]
	if !known {
		return Failed(c, a.path(c), fault.Invalid("choose how long the old key works"))
	}
	row, text, err := a.keys.Rotate(c.UserContext(), project.Project.ID, c.Params("id"), grace)
	if err != nil {
		return Failed(c, a.path(c), err)
	}
	note := "The old key no longer works."
	if grace > 0 {
		note = "The old key works until " + a.now().Add(grace).UTC().Format("2 January, 15:04 UTC") + " at the latest."
	}
	return a.created(c, row, text, note)
}

// Revoke serves POST /admin/projects/:projectSlug/keys/:id/revoke.
func (a *Keys) Revoke(c *fiber.Ctx) error {
	project, err := a.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	if err := a.keys.Revoke(c.UserContext(), project.Project.ID, c.Params("id")); err != nil {
		return Failed(c, a.path(c), err)
	}
	return Done(c, a.path(c), "The key is revoked. Clients that use it are refused from now on.")
}

func (a *Keys) path(c *fiber.Ctx) string { return keysPath(c.Params("projectSlug")) }

func keysPath(slug string) string { return projectPath(slug) + "/keys" }

// created leads to the page of a new key, which shows its text once.
func (a *Keys) created(c *fiber.Ctx, row models.Key, text secrets.Value, note string) error {
	to := a.path(c) + "/" + row.ID
	if err := putShown(c, a.seal, a.now(), to, text.Reveal(), note); err != nil {
		return err
	}
	return c.Redirect(to, fiber.StatusSeeOther)
}

// Show serves GET /admin/projects/:projectSlug/keys/:id: right after a key was
// created its text, later only that it was shown.
func (a *Keys) Show(c *fiber.Ctx) error {
	project, err := a.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	rows, err := a.keys.List(c.UserContext(), project.Project.ID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(rows, func(row models.Key) bool { return row.ID == c.Params("id") })
	if i < 0 {
		return fault.NotFound("key", c.Params("id"))
	}
	shown, _ := takeShown(c, a.seal, a.now())
	return web.Render(c, admin.KeyNew(admin.KeyNewProps{
		Frame: a.pages.Frame(c, title(project, "Key"), layout.SectionProjects), Project: headOf(project, a.health, layout.TabKeys),
		Name: rows[i].Name, Prefix: rows[i].Prefix, Key: shown.Secret, Note: shown.Note,
	}))
}

func (a *Keys) page(c *fiber.Ctx, p admin.KeysProps) error {
	project, err := a.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	rows, err := a.keys.List(c.UserContext(), project.Project.ID)
	if err != nil {
		return err
	}
	p.Frame = a.pages.Frame(c, title(project, "Keys"), layout.SectionProjects)
	p.Project, p.Now = headOf(project, a.health, layout.TabKeys), a.now()
	for _, row := range rows {
		over := row.RevokedAt != nil || row.ExpiresAt != nil && !row.ExpiresAt.After(p.Now)
		if over && !p.Ended {
			p.Hidden++
			continue
		}
		p.Keys = append(p.Keys, admin.KeyRow{
			ID: row.ID, Name: row.Name, Prefix: row.Prefix, CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt, LastUsedAt: row.LastUsedAt, RevokedAt: row.RevokedAt,
		})
	}
	a.cutPage(&p, c.QueryInt("page", 1))
	return web.Render(c, admin.Keys(p))
}

// cutPage leaves the keys of one page.
func (a *Keys) cutPage(p *admin.KeysProps, page int) {
	all := len(p.Keys)
	pages := max((all+keysPerPage-1)/keysPerPage, 1)
	page = min(max(page, 1), pages)
	address := func(page int) string {
		at := keysPath(p.Project.Slug) + "?page=" + strconv.Itoa(page)
		if p.Ended {
			at += "&ended=1"
		}
		return at
	}
	p.Keys = p.Keys[(page-1)*keysPerPage : min(page*keysPerPage, all)]
	p.Pager.Shown = ui.Plural(all, "key", "keys")
	if page > 1 {
		p.Pager.FirstURL, p.Pager.PreviousURL = address(1), address(page-1)
	}
	if page < pages {
		p.Pager.NextURL = address(page + 1)
	}
}

// lifetimeOf returns how long a key of a form lives; 0 is for ever. A key of
// the pages has a name, so that people know which one to revoke.
func lifetimeOf(name, expires string) (time.Duration, error) {
	fields := map[string]string{}
	if name == "" {
		fields["name"] = "say who or what the key is for"
	}
	days := 0
	if expires != neverExpires {
		var err error
		if days, err = strconv.Atoi(expires); err != nil || days < 1 || days > 365 {
			fields["expires"] = "choose when the key ends"
		}
	}
	if len(fields) > 0 {
		return 0, fault.Validation(fields)
	}
	return time.Duration(days) * 24 * time.Hour, nil
}
