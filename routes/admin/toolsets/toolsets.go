// Package toolsets serves the toolsets of a project: the list, the form with its
// preview, and the page of a toolset.
package toolsets

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/projects/toolsets"
	"mcpgateway/services/toolset"
	gate "mcpgateway/services/toolset/views"
	views "mcpgateway/views/admin/toolsets"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// Toolsets serves the toolsets of a project.
type Toolsets struct {
	pages  *admin.ProjectPages
	store  *toolsets.Store
	public *url.URL // origin of the endpoints
	now    func() time.Time
}

// New returns the handlers. public is the origin of the endpoints.
func New(pages *admin.ProjectPages, store *toolsets.Store, public *url.URL, now func() time.Time) *Toolsets {
	return &Toolsets{pages: pages, store: store, public: public, now: now}
}

// endpoint returns the URL of a toolset's endpoints, without their kind.
func (a *Toolsets) endpoint(p *toolset.Snapshot, slug string) *url.URL {
	return a.public.JoinPath("v1", "mcp", p.Project.Slug, "toolsets", slug)
}

// List serves GET /admin/projects/:projectSlug/toolsets.
func (a *Toolsets) List(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	rows, err := a.store.List(c.UserContext(), p.Project.ID)
	if err != nil {
		return err
	}
	counts, err := a.store.Counts(c.UserContext(), p.Project.ID)
	if err != nil {
		return err
	}
	moved, err := a.store.Moved(c.UserContext(), p.Project.Slug, rows)
	if err != nil {
		return err
	}
	props := views.ListProps{Frame: a.pages.ProjectFrame(c, p, layout.TabToolsets, "Toolsets"), Slug: p.Project.Slug, Total: len(p.AllTools())}
	for _, row := range rows {
		_, changed := moved[row.ID]
		used := counts[row.ID]
		props.Rows = append(props.Rows, views.Row{
			ID: row.ID, Slug: row.Slug, Name: row.Name, Endpoint: a.endpoint(p, row.Slug).JoinPath("request").String(),
			Tools: len(gate.Preview(p, &row).AllTools()), Keys: used.Keys, People: used.People, Groups: used.Groups, Changed: changed,
		})
	}
	return web.Render(c, views.List(props))
}

// New serves GET /admin/projects/:projectSlug/toolsets/new.
func (a *Toolsets) New(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	return a.form(c, p, views.FormProps{}, nil)
}

// Create serves POST /admin/projects/:projectSlug/toolsets.
func (a *Toolsets) Create(c *fiber.Ctx) error {
	p, err := a.pages.Project(c)
	if err != nil {
		return err
	}
	form := posted(c)
	if form.Name == "" {
		return a.form(c, p, views.FormProps{Form: form}, fault.Validation(map[string]string{"name": "enter a name"}))
	}
	slug, err := projects.SlugFor("slug", form.Slug, form.Name)
	if err != nil {
		return a.form(c, p, views.FormProps{Form: form}, err)
	}
	row, err := a.store.Create(c.UserContext(), p.Project.Slug, slug, declared(form))
	if err != nil {
		return a.form(c, p, views.FormProps{Form: form}, err)
	}
	return frame.Done(c, paths.Toolset(p.Project.Slug, row.ID), "Toolset created.")
}

// Edit serves GET /admin/projects/:projectSlug/toolsets/:id/edit.
func (a *Toolsets) Edit(c *fiber.Ctx) error {
	p, row, err := a.toolset(c)
	if err != nil {
		return err
	}
	return a.form(c, p, views.FormProps{ID: row.ID, Form: formOf(row), Seen: frame.Fingerprint(formOf(row))}, nil)
}

// Update serves POST /admin/projects/:projectSlug/toolsets/:id.
func (a *Toolsets) Update(c *fiber.Ctx) error {
	p, row, err := a.toolset(c)
	if err != nil {
		return err
	}
	form, stored := posted(c), formOf(row)
	form.Slug = row.Slug
	if form.Name == "" {
		err = fault.Validation(map[string]string{"name": "enter a name"})
	}
	if err == nil {
		err = frame.CheckUnchanged(c, stored, entries(stored, form)...)
	}
	if err == nil {
		_, err = a.store.Update(c.UserContext(), p.Project.Slug, row.Slug, declared(form))
	}
	if err != nil {
		return a.form(c, p, views.FormProps{ID: row.ID, Form: form, Seen: frame.Fingerprint(stored)}, err)
	}
	return frame.Done(c, paths.Toolset(p.Project.Slug, row.ID), "Toolset saved.")
}

// Accept serves POST …/toolsets/:id/accept. It ends the warning about tools that
// a sync changed.
func (a *Toolsets) Accept(c *fiber.Ctx) error {
	p, row, err := a.toolset(c)
	if err != nil {
		return err
	}
	to := paths.Toolset(p.Project.Slug, row.ID)
	if _, err := a.store.Update(c.UserContext(), p.Project.Slug, row.Slug, &declaration.Toolset{}); err != nil {
		return frame.Failed(c, to, err)
	}
	return frame.Done(c, to, "Changed tools accepted.")
}

// Delete serves POST …/toolsets/:id/delete. For a toolset in use the user types
// its slug to confirm what the dialog names.
func (a *Toolsets) Delete(c *fiber.Ctx) error {
	p, row, err := a.toolset(c)
	if err != nil {
		return err
	}
	force := web.FormValue(c, "force") == "true"
	if force && strings.TrimSpace(web.FormValue(c, "confirm")) != row.Slug {
		c.Status(fiber.StatusUnprocessableEntity)
		return a.page(c, p, row, "Type "+row.Slug+" exactly.")
	}
	if err := a.store.Delete(c.UserContext(), p.Project.Slug, row.Slug, force); err != nil {
		return frame.Failed(c, paths.Toolset(p.Project.Slug, row.ID), err)
	}
	return frame.Done(c, paths.Toolsets(p.Project.Slug), "Toolset "+row.Slug+" deleted.")
}

// toolset returns the toolset that the URL names, and its project.
func (a *Toolsets) toolset(c *fiber.Ctx) (*toolset.Snapshot, *models.Toolset, error) {
	p, err := a.pages.Project(c)
	if err != nil {
		return nil, nil, err
	}
	rows, err := a.store.List(c.UserContext(), p.Project.ID)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(rows, func(row models.Toolset) bool { return row.ID == c.Params("id") })
	if i < 0 {
		return nil, nil, fault.NotFound("toolset", c.Params("id"))
	}
	return p, &rows[i], nil
}
