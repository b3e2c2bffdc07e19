package me

import (
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/access/personal"
	"mcpgateway/services/fault"
	"mcpgateway/views/install"
	"mcpgateway/views/layout"
	views "mcpgateway/views/me"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

const day = 24 * time.Hour

// Keys serves GET /me/keys: the user's own keys.
func (m *Me) Keys(c *fiber.Ctx) error {
	user := guard.UserOf(c)
	rows, err := m.Own.Keys(c.UserContext(), user.ID)
	if err != nil {
		return err
	}
	details, err := m.Own.Details(c.UserContext(), rows...)
	if err != nil {
		return err
	}
	p := views.KeysProps{Frame: m.Pages.Frame(c, "My keys", layout.SectionKeys), Now: m.Now()}
	for _, row := range rows {
		p.Keys = append(p.Keys, m.keyOf(row, details[row.ID]))
	}
	for _, project := range m.Own.Projects(user.ID) {
		if project.PersonalKeys() {
			p.Projects = append(p.Projects, views.KeyProject{Slug: project.Project.Slug, Name: nameOf(project)})
		}
	}
	return web.Render(c, views.Keys(p))
}

// keyOf returns a key of the user.
func (m *Me) keyOf(row models.Key, details keys.Details) views.Key {
	key := views.Key{ID: row.ID, Name: row.Name, Prefix: row.Prefix, CreatedAt: row.CreatedAt, LastUsedAt: row.LastUsedAt, Limited: details.Limited}
	if row.ExpiresAt != nil {
		key.ExpiresAt = *row.ExpiresAt
	}
	if project := m.Pages.Directory.ProjectByID(row.ProjectID); project != nil {
		key.Slug, key.Project = project.Project.Slug, ui.Clean(project.Project.Name)
	}
	for _, t := range details.Toolsets {
		key.Toolsets = append(key.Toolsets, ui.Clean(t.Name))
	}
	return key
}

// NewKey serves GET /me/projects/:projectSlug/keys: the form of a new key.
func (m *Me) NewKey(c *fiber.Ctx) error {
	project, err := m.keyProject(c)
	if err != nil {
		return err
	}
	days := min(90, project.Project.PersonalKeysMaxDays)
	return m.keyForm(c, project, views.NewKeyProps{Days: strconv.Itoa(days), Tools: frame.ToolChoiceOf(project.Toolsets(), nil)}, nil)
}

// keyProject returns the project of the request, or NOT_FOUND for one in which
// the user can't have keys.
func (m *Me) keyProject(c *fiber.Ctx) (personal.Project, error) {
	project, err := m.Own.Project(guard.UserOf(c).ID, c.Params("projectSlug"))
	if err == nil && !project.PersonalKeys() {
		return project, fault.NotFound("project", c.Params("projectSlug"))
	}
	return project, err
}

func (m *Me) keyForm(c *fiber.Ctx, project personal.Project, p views.NewKeyProps, failed error) (err error) {
	if p.Errors, err = frame.Fields(c, failed); err != nil {
		return err
	}
	p.Frame = m.Pages.Frame(c, "New key", layout.SectionKeys)
	p.Crumbs = []layout.Crumb{{Label: "My keys", URL: paths.MyKeys}, {Label: "New key"}}
	p.Slug, p.Project, p.MaxDays = project.Project.Slug, nameOf(project), project.Project.PersonalKeysMaxDays
	p.Tools.Hint = "What you can use in this project, now and later."
	return web.Render(c, views.NewKey(p))
}

// CreateKey serves POST /me/projects/:projectSlug/keys. The page of the key
// shows it.
func (m *Me) CreateKey(c *fiber.Ctx) error {
	project, err := m.keyProject(c)
	if err != nil {
		return err
	}
	p := views.NewKeyProps{Name: strings.TrimSpace(web.FormValue(c, "name")), Days: web.FormValue(c, "expires")}
	choice, slugs, err := frame.ToolChoice(c, project.Toolsets())
	p.Tools = choice
	if err != nil {
		return m.keyForm(c, project, p, err)
	}
	days, err := strconv.Atoi(p.Days)
	switch {
	case p.Name == "":
		return m.keyForm(c, project, p, fault.Validation(map[string]string{"name": "Enter a name."}))
	case err != nil || days < 1 || days > project.Project.PersonalKeysMaxDays:
		return m.keyForm(c, project, p, fault.Validation(map[string]string{"expires": "Use 1 to " + strconv.Itoa(project.Project.PersonalKeysMaxDays) + " days."}))
	}
	row, text, err := m.Own.CreateKey(c.UserContext(), guard.UserOf(c).ID, project.Project.Slug, keys.Attributes{Name: p.Name, Lifetime: time.Duration(days) * day, Toolsets: slugs})
	if err != nil {
		return m.keyForm(c, project, p, err)
	}
	to := paths.MyKey(row.ID)
	if err := frame.PutOnce(c, m.Seal, m.Now(), to, text); err != nil {
		return err
	}
	return c.Redirect(to, fiber.StatusSeeOther)
}

// Key serves GET /me/keys/:id. For some minutes after its creation the page
// shows the text of the key.
func (m *Me) Key(c *fiber.Ctx) error {
	row, err := m.Own.Key(c.UserContext(), guard.UserOf(c).ID, c.Params("id"))
	if err != nil {
		return err
	}
	details, err := m.Own.Details(c.UserContext(), row)
	if err != nil {
		return err
	}
	p := views.KeyProps{Key: m.keyOf(row, details[row.ID]), Now: m.Now(), Ended: row.RevokedAt != nil || row.ExpiresAt != nil && !m.Now().Before(*row.ExpiresAt)}
	p.Frame = m.Pages.Frame(c, p.Called(), layout.SectionKeys)
	p.Crumbs = []layout.Crumb{{Label: "My keys", URL: paths.MyKeys}, {Label: p.Called()}}
	if secret := frame.Once(c, m.Seal, m.Now()); secret != "" && !p.Ended {
		name, endpoint := install.Endpoint(m.Public, p.Slug, details[row.ID].Slugs())
		p.Secret = secret
		p.Snippets = install.Remote{Name: name, URL: endpoint, Key: "Bearer API_KEY", Secret: secret}.Tabs()
		admin.ChooseClient(c, p.Snippets)
	}
	return web.Render(c, views.KeyPage(p))
}

// RotateKey serves POST /me/keys/:id/rotate. The page of the new key shows it.
func (m *Me) RotateKey(c *fiber.Ctx) error {
	row, text, err := m.Own.RotateKey(c.UserContext(), guard.UserOf(c).ID, c.Params("id"), 0)
	if err != nil {
		return frame.Failed(c, paths.MyKeys, err)
	}
	to := paths.MyKey(row.ID)
	if err := frame.PutOnce(c, m.Seal, m.Now(), to, text); err != nil {
		return err
	}
	return c.Redirect(to, fiber.StatusSeeOther)
}

// RevokeKey serves POST /me/keys/:id/revoke.
func (m *Me) RevokeKey(c *fiber.Ctx) error {
	if err := m.Own.RevokeKey(c.UserContext(), guard.UserOf(c).ID, c.Params("id")); err != nil {
		return frame.Failed(c, paths.MyKeys, err)
	}
	return frame.Done(c, paths.MyKeys, "Key revoked.")
}
