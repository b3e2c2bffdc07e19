// Package keys serves the API keys of a project: the list, the form of a new key,
// and the page of a key, which shows when its client connects.
package keys

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/activity"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/keys"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// Options are the dependencies of Keys.
type Options struct {
	Pages   *admin.ProjectPages
	Keys    *keys.Store
	Index   *keys.Index
	Calls   *activity.Calls
	Traffic *traffic.Store
	Seal    *secrets.KeyRing // encrypts a new key for the page that shows it
	Public  *url.URL         // origin of the endpoints
	Now     func() time.Time
}

// Keys serves the keys of a project.
type Keys struct{ Options }

// New returns the handlers.
func New(o Options) *Keys { return &Keys{o} }

// neverExpires is the form value for a key that never expires.
const neverExpires = "never"

// graces maps form values to the time for which a rotated key keeps working.
var graces = map[string]time.Duration{"0s": 0, "1h": time.Hour, "24h": 24 * time.Hour, "168h": 168 * time.Hour}

// New serves GET /admin/projects/:projectSlug/keys/new.
func (a *Keys) New(c *fiber.Ctx) error {
	project, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	chosen, err := queriedToolset(c, project)
	if err != nil {
		return err
	}
	return a.form(c, views.NewProps{Expires: "90", Tools: frame.ToolChoiceOf(project.ToolsetsBySlug(), chosen)}, nil)
}

// queriedToolset returns the slug of the toolset that the query of a request
// names, or nil without one. It returns NOT_FOUND for an unknown one, because the
// form would offer everything instead.
func queriedToolset(c *fiber.Ctx, p *toolset.Snapshot) ([]string, error) {
	slug := strings.Clone(c.Query("toolset"))
	if slug == "" {
		return nil, nil
	}
	for _, row := range p.ToolsetsBySlug() {
		if row.Slug == slug {
			return []string{slug}, nil
		}
	}
	return nil, fault.NotFound("toolset", slug)
}

// form renders the form of a new key. failed is the error of a rejected one, or
// nil.
func (a *Keys) form(c *fiber.Ctx, p views.NewProps, failed error) error {
	project, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	if p.Errors, err = frame.Fields(c, failed); err != nil {
		return err
	}
	p.Frame = a.Pages.ProjectFrame(c, project, layout.TabKeys, "New key", layout.Crumb{Label: "New key"})
	p.Slug = project.Project.Slug
	return web.Render(c, views.New(p))
}

// Create serves POST /admin/projects/:projectSlug/keys. The page of the key
// shows it.
func (a *Keys) Create(c *fiber.Ctx) error {
	project, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	p := views.NewProps{Name: strings.TrimSpace(web.FormValue(c, "name")), Expires: web.FormValue(c, "expires")}
	choice, slugs, err := frame.ToolChoice(c, project.ToolsetsBySlug())
	p.Tools = choice
	if err != nil {
		return a.form(c, p, err)
	}
	lifetime, err := lifetimeOf(p.Name, p.Expires)
	if err != nil {
		return a.form(c, p, err)
	}
	row, text, err := a.Keys.CreateScoped(c.UserContext(), project.Project.ID, keys.Attributes{Name: p.Name, Lifetime: lifetime, Toolsets: slugs})
	if err != nil {
		return a.form(c, p, err)
	}
	return a.created(c, row, shown{Secret: text.Reveal()})
}

// Rotate serves POST /admin/projects/:projectSlug/keys/:id/rotate. The page of
// the new key shows it.
func (a *Keys) Rotate(c *fiber.Ctx) error {
	project, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	grace, known := graces[web.FormValue(c, "grace")]
	if !known {
		return frame.Failed(c, a.path(c), fault.Invalid("Choose how long to keep the old key."))
	}
	row, text, err := a.Keys.Rotate(c.UserContext(), project.Project.ID, c.Params("id"), grace)
	if err != nil {
		return frame.Failed(c, a.path(c), err)
	}
	s := shown{Secret: text.Reveal(), Replaced: true}
	if grace > 0 {
		old, err := a.Keys.Get(c.UserContext(), c.Params("id"))
		if err != nil {
			return err
		}
		s.OldUntil = *old.ExpiresAt // it expires when the grace ends, or earlier
	}
	return a.created(c, row, s)
}

// shown is a new key for its page.
type shown struct {
	Secret   string    `json:"secret"`
	Replaced bool      `json:"replaced"` // it is the successor of another key
	OldUntil time.Time `json:"oldUntil"` // until which the other key works; zero if it stopped
}

// created redirects to the page of a new key.
func (a *Keys) created(c *fiber.Ctx, row models.Key, s shown) error {
	to := paths.Key(c.Params("projectSlug"), row.ID)
	if err := frame.PutOnceWith(c, a.Seal, a.Now(), to, s); err != nil {
		return err
	}
	return c.Redirect(to, fiber.StatusSeeOther)
}

// SetTools serves POST /admin/projects/:projectSlug/keys/:id/tools.
func (a *Keys) SetTools(c *fiber.Ctx) error {
	project, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	to := paths.Key(project.Project.Slug, c.Params("id"))
	_, slugs, err := frame.ToolChoice(c, project.ToolsetsBySlug())
	if err == nil {
		err = a.Keys.SetToolsets(c.UserContext(), project.Project.ID, c.Params("id"), slugs)
	}
	if err != nil {
		return frame.Failed(c, to, err)
	}
	return frame.Done(c, to, "Tools of the key saved.")
}

// Revoke serves POST /admin/projects/:projectSlug/keys/:id/revoke.
func (a *Keys) Revoke(c *fiber.Ctx) error {
	project, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	if err := a.Keys.Revoke(c.UserContext(), project.Project.ID, c.Params("id")); err != nil {
		return frame.Failed(c, a.path(c), err)
	}
	return frame.Done(c, a.path(c), "Key revoked.")
}

// Done serves POST /admin/projects/:projectSlug/keys/:id/done. It deletes the
// cookie with the key.
func (a *Keys) Done(c *fiber.Ctx) error {
	frame.DropOnce(c, a.Now(), paths.Key(c.Params("projectSlug"), c.Params("id")))
	return c.Redirect(a.path(c), fiber.StatusSeeOther)
}

func (a *Keys) path(c *fiber.Ctx) string { return paths.Keys(c.Params("projectSlug")) }

// lifetimeOf returns the lifetime of a new key; 0 means it never expires. The form
// requires a name, so that users know which key to revoke.
func lifetimeOf(name, expires string) (time.Duration, error) {
	fields := map[string]string{}
	if name == "" {
		fields["name"] = "Enter a name."
	}
	days := 0
	if expires != neverExpires {
		var err error
		if days, err = strconv.Atoi(expires); err != nil || days < 1 || days > 365 {
			fields["expires"] = "Choose when the key expires."
		}
	}
	if len(fields) > 0 {
		return 0, fault.Validation(fields)
	}
	return time.Duration(days) * 24 * time.Hour, nil
}
