// Package registries serves the admin pages of the registries for editors: views of
// the catalog and the keys of gated ones.
package registries

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/registries"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	views "mcpgateway/views/admin/registries"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/public"
	"mcpgateway/web"
)

// Options are the dependencies of Registries.
type Options struct {
	Pages   *frame.Pages
	Catalog *catalog.Catalog
	Store   *registries.Store
	Seal    *secrets.KeyRing // encrypts a new key for the page that shows it
	Public  *url.URL
	Now     func() time.Time
}

// Registries serves the pages.
type Registries struct{ Options }

// New returns the handlers.
func New(o Options) *Registries { return &Registries{o} }

const (
	defaultExpiry = "90" // days
	neverExpires  = "never"
	maxExpiry     = 3650 // days
)

// List serves GET /admin/catalog/views.
func (a *Registries) List(c *fiber.Ctx) error {
	return a.list(c, views.ListProps{Secret: frame.Once(c, a.Seal, a.Now())})
}

// list renders the views and keys with their forms.
func (a *Registries) list(c *fiber.Ctx, p views.ListProps) error {
	rows, err := a.Store.Views(c.UserContext())
	if err != nil {
		return err
	}
	keys, err := a.Store.Keys(c.UserContext())
	if err != nil {
		return err
	}
	p.Frame = a.frame(c, "Editors", layout.Crumb{Label: "Editors"})
	p.Tabs = public.CatalogTabs{Servers: len(a.Catalog.AllEntries()), Templates: len(a.Catalog.AllTemplates()), Sources: true, Current: public.TabEditors}
	p.Now, p.All = a.Now(), a.Public.String()
	p.New.Kind, p.NewKey.Expires = cmp.Or(p.New.Kind, string(models.ViewList)), cmp.Or(p.NewKey.Expires, defaultExpiry)
	for _, row := range rows {
		p.Views = append(p.Views, a.view(row))
	}
	for _, k := range keys {
		p.Keys = append(p.Keys, views.Key{ID: k.ID, Name: k.Name, Prefix: k.Prefix, CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, LastUsedAt: k.LastUsedAt, RevokedAt: k.RevokedAt})
	}
	return web.Render(c, views.List(p))
}

func (a *Registries) frame(c *fiber.Ctx, title string, below ...layout.Crumb) layout.Frame {
	f := a.Pages.Frame(c, title, layout.SectionCatalog)
	f.Crumbs = append([]layout.Crumb{{Label: "Catalog", URL: paths.Registry}}, below...)
	return f
}

func (a *Registries) view(row registries.View) views.View {
	return views.View{
		Name: row.Name, Title: row.Title, Kind: string(row.Kind), Query: row.Query, URL: a.Public.String() + "/views/" + row.Name, Entries: row.Entries, Gated: row.Gated,
	}
}

// Create serves POST /admin/catalog/views.
func (a *Registries) Create(c *fiber.Ctx) error {
	p := views.ListProps{New: views.Form{
		Name: strings.TrimSpace(web.FormValue(c, "name")), Title: strings.TrimSpace(web.FormValue(c, "title")), Kind: web.FormValue(c, "kind"),
		Query: strings.TrimSpace(web.FormValue(c, "query")), Gated: web.FormValue(c, "gated") == "true",
	}}
	row, err := a.Store.Create(c.UserContext(), registries.NewView{
		Name: p.New.Name, Title: p.New.Title, Kind: models.CatalogViewKind(p.New.Kind), Query: p.New.Query, Gated: p.New.Gated,
	})
	if err != nil {
		if p.Errors, err = frame.Fields(c, err); err != nil {
			return err
		}
		return a.list(c, p)
	}
	return frame.Done(c, paths.CatalogView(row.Name), "View created.")
}

// CreateKey serves POST /admin/catalog/keys. The list shows the key once.
func (a *Registries) CreateKey(c *fiber.Ctx) error {
	p := views.ListProps{NewKey: views.KeyForm{Name: strings.TrimSpace(web.FormValue(c, "name")), Expires: web.FormValue(c, "expires")}}
	n := registries.NewKey{Name: p.NewKey.Name}
	var err error
	if p.NewKey.Expires != neverExpires {
		days, failed := strconv.Atoi(p.NewKey.Expires)
		if failed != nil || days < 1 || days > maxExpiry {
			err = fault.Validation(map[string]string{"expires": "choose when the key expires"})
		}
		n.Lifetime = time.Duration(days) * 24 * time.Hour
	}
	var key secrets.Value
	if err == nil {
		_, key, err = a.Store.CreateKey(c.UserContext(), n)
	}
	if err != nil {
		if p.Failed, err = frame.Fields(c, err); err != nil {
			return err
		}
		return a.list(c, p)
	}
	if err := frame.PutOnce(c, a.Seal, a.Now(), paths.CatalogViews, key); err != nil {
		return err
	}
	return c.Redirect(paths.CatalogViews, fiber.StatusSeeOther)
}

// RevokeKey serves POST /admin/catalog/keys/:id/revoke.
func (a *Registries) RevokeKey(c *fiber.Ctx) error {
	if err := a.Store.RevokeKey(c.UserContext(), c.Params("id")); err != nil {
		return frame.Failed(c, paths.CatalogViews, err)
	}
	return frame.Done(c, paths.CatalogViews, "Key revoked.")
}
