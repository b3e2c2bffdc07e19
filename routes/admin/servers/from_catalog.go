package servers

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services/catalog"
	"mcpgateway/services/fault"
	"mcpgateway/services/inventory"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// FromCatalog adds catalog servers and templates to projects.
type FromCatalog struct {
	pages   *admin.ProjectPages
	catalog *catalog.Catalog
	store   *projects.Store
	reader  *inventory.Syncer
}

// NewFromCatalog returns the handlers.
func NewFromCatalog(pages *admin.ProjectPages, catalog *catalog.Catalog, store *projects.Store, reader *inventory.Syncer) *FromCatalog {
	return &FromCatalog{pages: pages, catalog: catalog, store: store, reader: reader}
}

// Add serves POST /admin/catalog/add. It adds a catalog server to a project.
// Credentials are entered on the server's pages. If the catalog doesn't list how
// callers authenticate, the connection is tested first: Add redirects to that.
func (a *FromCatalog) Add(c *fiber.Ctx) error {
	entry, err := a.catalog.Entry(web.FormValue(c, "id"))
	if err != nil {
		return err
	}
	p, err := a.pages.Directory.Project(web.FormValue(c, "project"))
	if err != nil {
		return err
	}
	here := paths.RegistryEntry(entry.PublisherName, entry.ServerName)
	if entry.IsOwn() {
		return frame.Failed(c, here, fault.Invalid("It's an endpoint of this gateway. Connect clients to it directly."))
	}
	if why := notRemote(entry); why != "" {
		return frame.Failed(c, here, fault.Invalid("%s. It can't be added to a project.", why))
	}
	alias := strings.TrimSpace(web.FormValue(c, "alias"))
	if entry.AuthType == "unknown" {
		to := url.Values{"entry": {entry.ID}}
		if alias != "" {
			to.Set("alias", alias)
		}
		return c.Redirect(paths.NewServer(p.Project.Slug)+"?"+to.Encode(), fiber.StatusSeeOther)
	}
	alias = cmp.Or(alias, projects.FreeAliasIn(p, entry.ServerName))
	saved, err := a.store.AddServer(c.UserContext(), p.Project.Slug, alias, projects.FromCatalog(entry, true))
	if err != nil {
		return frame.Failed(c, here, err)
	}
	return a.added(c, p, saved.Server)
}

// added redirects to the page of a new server. If the server requires no
// credentials, it syncs the tools first.
func (a *FromCatalog) added(c *fiber.Ctx, p *toolset.Snapshot, s models.Server) error {
	to := paths.Server(p.Project.Slug, s.ID)
	switch s.AuthType {
	case models.UpstreamAuthOAuth:
		return frame.Done(c, to, "Server added. Sign in at its provider to read its tools.")
	case models.UpstreamAuthBearer:
		return frame.Done(c, to, "Server added. Add its token to read its tools.")
	}
	if missing := missingHeaders(s); len(missing) > 0 {
		return frame.Done(c, to, "Server added. Add its header "+missing[0]+" to read its tools.")
	}
	result, err := a.reader.Sync(c.UserContext(), s.ID)
	if err != nil {
		return frame.Done(c, to, "Server added, but we couldn't connect. See why below.")
	}
	return frame.Done(c, to, "Server added. "+syncWords(result))
}

// headersWithValue returns the names of headers with a value.
func headersWithValue(s models.Server) []string { return headersOf(s, true) }

// missingHeaders returns the names of headers without a value.
func missingHeaders(s models.Server) []string { return headersOf(s, false) }

func headersOf(s models.Server, withValue bool) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if (s.Headers[name] != "") == withValue {
			names = append(names, name)
		}
	}
	return names
}

// isProject reports whether a project has the slug.
func (a *FromCatalog) isProject(slug string) bool {
	_, err := a.pages.Directory.Project(slug)
	return err == nil
}
