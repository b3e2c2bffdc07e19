package registries

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/catalog/registries"
	views "mcpgateway/views/admin/registries"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Show serves GET /admin/catalog/views/:view.
func (a *Registries) Show(c *fiber.Ctx) error {
	row, err := a.Store.View(c.UserContext(), c.Params("view"))
	if err != nil {
		return err
	}
	return a.page(c, row, views.ViewProps{Form: views.Form{Title: row.Title, Query: row.Query, Gated: row.Gated}})
}

// page renders a view with its form.
func (a *Registries) page(c *fiber.Ctx, row models.CatalogView, p views.ViewProps) error {
	view := registries.View{CatalogView: row}
	if row.Kind == models.ViewList {
		ids, err := a.Store.Approved(c.UserContext(), row.ID)
		if err != nil {
			return err
		}
		view.Entries = len(ids)
		for _, id := range ids {
			p.Entries = append(p.Entries, a.entry(id))
		}
		p.Endpoints = a.endpoints(ids)
	}
	p.Frame = a.frame(c, row.Title, layout.Crumb{Label: "Editors", URL: paths.CatalogViews}, layout.Crumb{Label: ui.Clean(row.Title)})
	p.View = a.view(view)
	p.Setting = `"chat.mcp.gallery.serviceUrl": "` + p.View.URL + `"`
	return web.Render(c, views.Page(p))
}

// entry returns a row of a list.
func (a *Registries) entry(id string) views.Entry {
	e, err := a.Catalog.Entry(id)
	if err != nil {
		return views.Entry{ID: id, Name: id}
	}
	return views.Entry{ID: id, Title: e.ServerTitle, Name: e.PublisherName + "/" + e.ServerName, URL: paths.RegistryEntry(e.PublisherName, e.ServerName)}
}

// endpoints returns the gateway's own rows that are not approved.
func (a *Registries) endpoints(approved []string) (options []ui.Option) {
	for _, e := range a.Catalog.AllEntries() {
		if e.IsOwn() && !slices.Contains(approved, e.ID) {
			options = append(options, ui.Option{Value: e.ID, Label: ui.Clean(e.ServerTitle)})
		}
	}
	return options
}

// Save serves POST /admin/catalog/views/:view.
func (a *Registries) Save(c *fiber.Ctx) error {
	row, err := a.Store.View(c.UserContext(), c.Params("view"))
	if err != nil {
		return err
	}
	form := views.Form{Title: strings.TrimSpace(web.FormValue(c, "title")), Query: strings.TrimSpace(web.FormValue(c, "query")), Gated: web.FormValue(c, "gated") == "true"}
	change := registries.Change{Title: &form.Title, Gated: &form.Gated}
	if row.Kind == models.ViewQuery {
		change.Query = &form.Query
	}
	if _, err := a.Store.Update(c.UserContext(), row.Name, change); err != nil {
		fields, err := frame.Fields(c, err)
		if err != nil {
			return err
		}
		return a.page(c, row, views.ViewProps{Form: form, Errors: fields})
	}
	return frame.Done(c, paths.CatalogView(row.Name), "View saved.")
}

// Add serves POST /admin/catalog/views/:view/add: entry is the row.
func (a *Registries) Add(c *fiber.Ctx) error {
	to := paths.CatalogView(c.Params("view"))
	if err := a.Store.AddEntry(c.UserContext(), c.Params("view"), web.FormValue(c, "entry")); err != nil {
		return frame.Failed(c, to, err)
	}
	return frame.Done(c, to, "Server added to the view.")
}

// Remove serves POST /admin/catalog/views/:view/remove: entry is the row.
func (a *Registries) Remove(c *fiber.Ctx) error {
	to := paths.CatalogView(c.Params("view"))
	if err := a.Store.RemoveEntry(c.UserContext(), c.Params("view"), web.FormValue(c, "entry")); err != nil {
		return frame.Failed(c, to, err)
	}
	return frame.Done(c, to, "Server removed from the view.")
}

// Delete serves POST /admin/catalog/views/:view/delete.
func (a *Registries) Delete(c *fiber.Ctx) error {
	if err := a.Store.Delete(c.UserContext(), c.Params("view")); err != nil {
		return frame.Failed(c, paths.CatalogViews, err)
	}
	return frame.Done(c, paths.CatalogViews, "View deleted.")
}
