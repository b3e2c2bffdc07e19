// Package catalog serves the admin pages of the catalog: its sources and its
// curated entries.
package catalog

import (
	"context"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/schedule"
	"mcpgateway/services/fault"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/public"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// curatedListed is the maximum number of listed curated entries.
const curatedListed = 200

// Catalog serves the admin pages of the catalog.
type Catalog struct {
	pages   *frame.Pages
	catalog *catalog.Catalog
	store   *catalog.Store
	people  People
	built   catalogSources
}

// catalogSources are the ids of the sources that every catalog has.
type catalogSources struct{ defaults, file string }

// New returns the handlers.
func New(pages *frame.Pages, c *catalog.Catalog, store *catalog.Store, people People) *Catalog {
	return &Catalog{pages: pages, catalog: c, store: store, people: people, built: catalogSources{catalog.SourceDefault, catalog.SourceFile}}
}

// frame returns the frame of a page below the sources.
func (a *Catalog) frame(c *fiber.Ctx, title string, below ...layout.Crumb) layout.Frame {
	f := a.pages.Frame(c, title, layout.SectionCatalog)
	f.Crumbs = append([]layout.Crumb{{Label: "Catalog", URL: paths.Registry}, {Label: "Sources", URL: paths.Catalog}}, below...)
	return f
}

// List serves GET /admin/catalog.
func (a *Catalog) List(c *fiber.Ctx) error {
	return a.listPage(c, views.CatalogSourcesProps{Kind: string(models.CatalogOfficial), Schedule: string(models.ScheduleDaily)}, nil)
}

// listPage renders the list. failed is the error of a rejected new source, or nil.
func (a *Catalog) listPage(c *fiber.Ctx, props views.CatalogSourcesProps, failed error) (err error) {
	if props.Errors, err = frame.Fields(c, failed); err != nil {
		return err
	}
	sources, err := a.store.Sources(c.UserContext())
	if err != nil {
		return err
	}
	curated, err := a.store.Curated(c.UserContext())
	if err != nil {
		return err
	}
	props.Frame, props.Now = a.frame(c, "Sources"), time.Now()
	props.Tabs = public.CatalogTabs{Servers: len(a.catalog.AllEntries()), Templates: len(a.catalog.AllTemplates()), Sources: true, Current: public.TabSources}
	for _, row := range sources {
		props.Sources = append(props.Sources, a.sourceOf(row))
	}
	addCurated(&props, curated)
	return web.Render(c, views.CatalogSources(props))
}

func addCurated(props *views.CatalogSourcesProps, curated []models.CatalogEntry) {
	props.More = max(len(curated)-curatedListed, 0)
	for _, e := range curated[:min(len(curated), curatedListed)] {
		props.Curated = append(props.Curated, entryOf(&e))
	}
}

func entryOf(e *models.CatalogEntry) views.CuratedEntry {
	return views.CuratedEntry{
		ID: e.ID, Title: e.ServerTitle, Name: e.PublisherName + "/" + e.ServerName, Tags: strings.Join(e.Tags, ", "), Hidden: e.Hidden, Locked: e.Locked,
		Featured: e.Featured, Verified: e.Verified, DecidedElsewhere: decided(e),
	}
}

func decided(e *models.CatalogEntry) bool { return e.FeaturedBy != "" || e.VerifiedBy != "" }

func (a *Catalog) sourceOf(row models.CatalogSource) views.CatalogSource {
	return views.CatalogSource{
		ID: row.ID, Kind: string(row.Kind), Name: row.Name, URL: row.URL, Enabled: row.Enabled, BuiltIn: row.ID == a.built.defaults,
		Permanent: row.ID == a.built.defaults || row.ID == a.built.file, FinishedAt: row.FinishedAt, Succeeded: row.Succeeded, Error: row.ErrorMessage,
		Schedule: string(row.Schedule), NextAt: schedule.Next(&row), HeldRemovals: row.HeldRemovals, HeldAt: row.HeldAt,
		Fetched: row.Fetched, Added: row.Added, Updated: row.Updated, Deleted: row.Deleted,
	}
}

// AddSource serves POST /admin/catalog/sources.
func (a *Catalog) AddSource(c *fiber.Ctx) error {
	props := views.CatalogSourcesProps{Kind: web.FormValue(c, "kind"), Name: strings.TrimSpace(web.FormValue(c, "name")), URL: strings.TrimSpace(web.FormValue(c, "url")), Schedule: web.FormValue(c, "schedule")}
	row, err := a.store.AddSource(c.UserContext(), catalog.NewSource{Kind: models.CatalogSourceKind(props.Kind), Name: props.Name, URL: props.URL, Schedule: models.CatalogSchedule(props.Schedule)})
	if err != nil {
		return a.listPage(c, props, err)
	}
	return frame.Done(c, paths.CatalogSource(row.ID), "Source added. Run it to read its entries.")
}

// EnableSource serves POST /admin/catalog/sources/:id/enable.
func (a *Catalog) EnableSource(c *fiber.Ctx) error {
	enabled := web.FormValue(c, "enabled") == "true"
	if err := a.store.EnableSource(c.UserContext(), c.Params("id"), enabled); err != nil {
		return frame.Failed(c, paths.Catalog, err)
	}
	if enabled {
		return frame.Done(c, paths.Catalog, "Source turned on.")
	}
	return frame.Done(c, paths.Catalog, "Source turned off. Its entries stay.")
}

// RemoveSource serves POST /admin/catalog/sources/:id/remove.
func (a *Catalog) RemoveSource(c *fiber.Ctx) error {
	if err := a.store.RemoveSource(c.UserContext(), c.Params("id")); err != nil {
		return frame.Failed(c, paths.Catalog, err)
	}
	return frame.Done(c, paths.Catalog, "Source and its entries removed.")
}

// shownAt returns the path of the page that shows an entry to administrators.
func shownAt(e *models.CatalogEntry) string {
	if e.Hidden {
		return paths.CatalogEntry(e.ID)
	}
	return paths.RegistryEntry(e.PublisherName, e.ServerName)
}

// Show serves GET /admin/catalog/:id.
func (a *Catalog) Show(c *fiber.Ctx) error {
	e, err := a.store.Entry(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	return a.editPage(c, &e, views.CatalogEditProps{Form: formOfEntry(&e)})
}

func formOfEntry(e *models.CatalogEntry) views.CatalogForm {
	return views.CatalogForm{
		ServerTitle: e.ServerTitle, PublisherTitle: e.PublisherTitle, Description: e.Description, Tags: strings.Join(e.Tags, ", "),
		IconURL: e.IconURL, RepoURL: e.RepoURL, DocsURL: e.DocsURL, WebsiteURL: e.WebsiteURL,
	}
}

func (a *Catalog) editPage(c *fiber.Ctx, e *models.CatalogEntry, props views.CatalogEditProps) error {
	title := ui.Clean(e.ServerTitle)
	history, err := a.history(c.UserContext(), e.ID)
	if err != nil {
		return err
	}
	props.Now, props.History = time.Now(), history
	props.Frame = a.frame(c, title)
	props.Frame.Crumbs = []layout.Crumb{{Label: "Catalog", URL: paths.Registry}, {Label: "Rows", URL: paths.CatalogRows}, {Label: title}}
	props.Entry = views.CatalogEntry{
		ID: e.ID, Title: e.ServerTitle, Publisher: e.PublisherTitle, Name: e.PublisherName + "/" + e.ServerName, URL: paths.RegistryEntry(e.PublisherName, e.ServerName),
		Remote: e.RemoteURL != "", Hidden: e.Hidden, Locked: e.Locked, Featured: e.Featured, Verified: e.Verified, Evidence: e.VerifiedEvidence, Decided: decided(e),
	}
	return web.Render(c, views.CatalogEdit(props))
}

// decide applies a one-button decision to an entry and redirects to its page with
// the message done.
func (a *Catalog) decide(c *fiber.Ctx, done string, decision func(ctx context.Context, id string) error) error {
	e, err := a.store.Entry(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	to := shownAt(&e)
	if err := decision(c.UserContext(), e.ID); err != nil {
		return frame.Failed(c, to, err)
	}
	return frame.Done(c, to, done)
}

// Feature serves POST /admin/catalog/:id/feature: featured=true|false.
func (a *Catalog) Feature(c *fiber.Ctx) error {
	on := web.FormValue(c, "featured") == "true"
	done := "Server unfeatured."
	if on {
		done = "Server featured. It's listed first."
	}
	return a.decide(c, done, func(ctx context.Context, id string) error { return a.store.SetFeatured(ctx, id, on) })
}

// Hide serves POST /admin/catalog/:id/hide: hidden=true|false.
func (a *Catalog) Hide(c *fiber.Ctx) error {
	e, err := a.store.Entry(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	hidden := web.FormValue(c, "hidden") == "true"
	if err := a.store.SetHidden(c.UserContext(), e.ID, hidden); err != nil {
		return frame.Failed(c, paths.Catalog, err)
	}
	if hidden {
		to := paths.Catalog
		if web.FormValue(c, "back") == paths.CatalogDuplicates {
			to = paths.CatalogDuplicates
		}
		return frame.Done(c, to, e.ServerTitle+" is hidden from the catalog.")
	}
	return frame.Done(c, paths.RegistryEntry(e.PublisherName, e.ServerName), e.ServerTitle+" is in the catalog again.")
}

// Unlock serves POST /admin/catalog/:id/unlock.
func (a *Catalog) Unlock(c *fiber.Ctx) error {
	return a.decide(c, "Entry reset. It follows its source again.", a.store.Unlock)
}

// Verify serves POST /admin/catalog/:id/verify: verified=true|false, evidence.
func (a *Catalog) Verify(c *fiber.Ctx) error {
	e, err := a.store.Entry(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	on, evidence := web.FormValue(c, "verified") == "true", strings.TrimSpace(web.FormValue(c, "evidence"))
	if err := a.store.SetVerified(c.UserContext(), e.ID, on, evidence); err != nil {
		fields, err := frame.Fields(c, err)
		if err != nil {
			return err
		}
		return a.editPage(c, &e, views.CatalogEditProps{Form: formOfEntry(&e), Evidence: evidence, EvidenceError: fields["evidence"]})
	}
	to := shownAt(&e)
	if on {
		return frame.Done(c, to, "Server verified.")
	}
	return frame.Done(c, to, "Verification removed.")
}

// Edit serves POST /admin/catalog/:id/edit. Fields that the form does not contain
// are not changed.
func (a *Catalog) Edit(c *fiber.Ctx) error {
	e, err := a.store.Entry(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	edit, form := postedEdit(c, &e)
	if edit == (catalog.Edit{}) {
		return frame.Failed(c, paths.RegistryEntry(e.PublisherName, e.ServerName), fault.Invalid("There is nothing to save. Change a field first."))
	}
	if err := a.store.Edit(c.UserContext(), e.ID, edit); err != nil {
		fields, err := frame.Fields(c, err)
		if err != nil {
			return err
		}
		return a.editPage(c, &e, views.CatalogEditProps{Form: form, Errors: fields})
	}
	return frame.Done(c, shownAt(&e), "Entry saved. It no longer follows its source.")
}

// postedEdit returns the changes of a posted form, and the entered form values.
func postedEdit(c *fiber.Ctx, e *models.CatalogEntry) (catalog.Edit, views.CatalogForm) {
	form := formOfEntry(e)
	read := func(name string, into *string) *string {
		if !c.Request().PostArgs().Has(name) {
			return nil
		}
		*into = strings.TrimSpace(web.FormValue(c, name))
		return into
	}
	edit := catalog.Edit{
		ServerTitle: read("serverTitle", &form.ServerTitle), PublisherTitle: read("publisherTitle", &form.PublisherTitle), Description: read("description", &form.Description),
		IconURL: read("iconUrl", &form.IconURL), RepoURL: read("repoUrl", &form.RepoURL), DocsURL: read("docsUrl", &form.DocsURL), WebsiteURL: read("websiteUrl", &form.WebsiteURL),
	}
	if read("tags", &form.Tags) != nil {
		edit.Tags = new(strings.Split(form.Tags, ","))
	}
	return edit, form
}
