package projects

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpgateway/services/access/keys"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Keys serves the keys of a project.
type Keys struct {
	pages *admin.ProjectPages
	keys  *keys.Store
	seal  *secrets.KeyRing
	now   func() time.Time
}

// NewKeys returns the handlers. seal encrypts new keys for the page that shows
// them.
func NewKeys(pages *admin.ProjectPages, keys *keys.Store, seal *secrets.KeyRing, now func() time.Time) *Keys {
	return &Keys{pages: pages, keys: keys, seal: seal, now: now}
}

// keysPerPage is the number of keys on a page.
const keysPerPage = 20

// neverExpires is the form value for a key that never expires.
const neverExpires = "never"

// graces maps form values to the time for which a rotated key keeps working.
var graces = map[string]time.Duration{"0s": 0, "1h": time.Hour, "24h": 24 * time.Hour, "168h": 168 * time.Hour}

// List serves GET /admin/projects/:projectSlug/keys. ?ended=1 includes expired and
// revoked keys.
func (a *Keys) List(c *fiber.Ctx) error {
	return a.page(c, views.KeysProps{Ended: c.Query("ended") == "1", Expires: "90"}, nil)
}

// Create serves POST /admin/projects/:projectSlug/keys. The page of the key
// shows it, once.
func (a *Keys) Create(c *fiber.Ctx) error {
	project, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	p := views.KeysProps{Name: strings.TrimSpace(web.FormValue(c, "name")), Expires: web.FormValue(c, "expires")}
	lifetime, err := lifetimeOf(p.Name, p.Expires)
	if err != nil {
		return a.page(c, p, err)
	}
	row, text, err := a.keys.Create(c.UserContext(), project.Project.ID, p.Name, lifetime)
	if err != nil {
		return a.page(c, p, err)
	}
	return a.created(c, row, text, "")
}

// Rotate serves POST /admin/projects/:projectSlug/keys/:id/rotate. The page of
// the new key shows it, once.
func (a *Keys) Rotate(c *fiber.Ctx) error {
	project, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	grace, known := graces[web.FormValue(c, "grace")]
	if !known {
		return frame.Failed(c, a.path(c), fault.Invalid("Choose how long to keep the old key."))
	}
	row, text, err := a.keys.Rotate(c.UserContext(), project.Project.ID, c.Params("id"), grace)
	if err != nil {
		return frame.Failed(c, a.path(c), err)
	}
	note := "The old key no longer works."
	if grace > 0 {
		note = "The old key works until " + a.now().Add(grace).UTC().Format("2 January, 15:04 UTC") + "."
	}
	return a.created(c, row, text, note)
}

// Revoke serves POST /admin/projects/:projectSlug/keys/:id/revoke.
func (a *Keys) Revoke(c *fiber.Ctx) error {
	project, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	if err := a.keys.Revoke(c.UserContext(), project.Project.ID, c.Params("id")); err != nil {
		return frame.Failed(c, a.path(c), err)
	}
	return frame.Done(c, a.path(c), "Key revoked.")
}

func (a *Keys) path(c *fiber.Ctx) string { return paths.Keys(c.Params("projectSlug")) }

// created redirects to the page of a new key, which shows its text once.
func (a *Keys) created(c *fiber.Ctx, row models.Key, text secrets.Value, note string) error {
	to := paths.Key(c.Params("projectSlug"), row.ID)
	if err := putShown(c, a.seal, a.now(), to, text.Reveal(), note); err != nil {
		return err
	}
	return c.Redirect(to, fiber.StatusSeeOther)
}

// Show serves GET /admin/projects/:projectSlug/keys/:id. Right after its creation
// the page shows the text of the key, later only that it was shown.
func (a *Keys) Show(c *fiber.Ctx) error {
	project, err := a.pages.Project(c)
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
	return web.Render(c, views.KeyNew(views.KeyNewProps{
		Frame: a.pages.ProjectFrame(c, project, layout.TabKeys, "Key", layout.Crumb{Label: "Key"}), Project: a.pages.Head(project, layout.TabKeys),
		Name: rows[i].Name, Prefix: rows[i].Prefix, Key: shown.Secret, Note: shown.Note,
	}))
}

// page renders the keys. failed is the error of a rejected new key, or nil.
func (a *Keys) page(c *fiber.Ctx, p views.KeysProps, failed error) error {
	project, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	if p.Errors, err = frame.Fields(c, failed); err != nil {
		return err
	}
	rows, err := a.keys.List(c.UserContext(), project.Project.ID)
	if err != nil {
		return err
	}
	p.Frame, p.Project, p.Now = a.pages.ProjectFrame(c, project, layout.TabKeys, "Keys"), a.pages.Head(project, layout.TabKeys), a.now()
	addKeys(&p, rows)
	cutPage(&p, c.QueryInt("page", 1))
	return web.Render(c, views.Keys(p))
}

// addKeys adds the rows of keys. Expired and revoked keys are only counted unless
// p.Ended is set.
func addKeys(p *views.KeysProps, rows []models.Key) {
	for _, row := range rows {
		ended := row.RevokedAt != nil || row.ExpiresAt != nil && !row.ExpiresAt.After(p.Now)
		if ended && !p.Ended {
			p.Hidden++
			continue
		}
		p.Keys = append(p.Keys, views.KeyRow{
			ID: row.ID, Name: row.Name, Prefix: row.Prefix, CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt, LastUsedAt: row.LastUsedAt, RevokedAt: row.RevokedAt,
		})
	}
}

// cutPage reduces p.Keys to one page and sets the pager.
func cutPage(p *views.KeysProps, page int) {
	all := len(p.Keys)
	pages := max((all+keysPerPage-1)/keysPerPage, 1)
	page = min(max(page, 1), pages)
	address := func(page int) string {
		at := paths.Keys(p.Project.Slug) + "?page=" + strconv.Itoa(page)
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

// lifetimeOf returns the lifetime of a new key; 0 means it never expires. The form
// requires a name, so that users know which key to revoke.
func lifetimeOf(name, expires string) (time.Duration, error) {
	fields := map[string]string{}
	if name == "" {
		fields["name"] = "enter a name"
	}
	days := 0
	if expires != neverExpires {
		var err error
		if days, err = strconv.Atoi(expires); err != nil || days < 1 || days > 365 {
			fields["expires"] = "choose when the key expires"
		}
	}
	if len(fields) > 0 {
		return 0, fault.Validation(fields)
	}
	return time.Duration(days) * 24 * time.Hour, nil
}
