package public

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/public"
	"mcpgateway/views/ui"
	"mcpgateway/web/guard"
)

// Page serves GET /registry/:publisher/:server. For an unknown server it
// responds with 404 and similar names.
func (r *Registry) Page(c *fiber.Ctx) error {
	publisher, server := c.Params("publisher"), c.Params("server")
	e, err := r.catalog.EntryByName(publisher, server)
	if fault.Is(err, fault.CodeNotFound) {
		return r.notFound(c, err, publisher, server)
	}
	if err != nil {
		return err
	}
	s := public.CatalogEntry{CatalogEntry: e}
	f := r.pages.frame(c, pageMeta{
		title: s.Title() + " by " + s.Publisher(), description: ui.Clean(e.Description), path: s.Path(), section: layout.SectionRegistry, data: r.pages.software(s),
		crumbs: []layout.Crumb{{Label: "Catalog", URL: paths.Registry}, {Label: "Servers", URL: paths.Registry}, {Label: s.Title()}},
	})
	props := public.RegistryItemProps{Frame: f, Server: s, Templates: r.templatesWith(e)}
	if f.Admin() {
		props.Projects = options(r.projects)
	}
	if user := guard.UserOf(c); user != nil && !f.Admin() {
		if props.Request, err = r.request(c.UserContext(), user.ID, e.ID); err != nil {
			return err
		}
	}
	if f.Nav != nil {
		props.AddedTo, props.Project = r.addedTo(e, f)
	}
	return render(c, f, public.RegistryItem(props))
}

// request returns the form with which a user requests an entry.
func (r *Registry) request(ctx context.Context, userID, entryID string) (*public.RequestForm, error) {
	rows, err := r.asking.Requests.Own(ctx, userID)
	if err != nil {
		return nil, err
	}
	form := &public.RequestForm{Open: slices.ContainsFunc(rows, func(row models.CatalogRequest) bool {
		return row.EntryID == entryID && row.State == models.RequestOpen
	})}
	for _, p := range r.asking.Projects(userID) {
		form.Projects = append(form.Projects, ui.Option{Value: p.Project.Slug, Label: cmp.Or(ui.Clean(p.Project.Name), p.Project.Slug)})
	}
	return form, nil
}

func (r *Registry) notFound(c *fiber.Ctx, err error, publisher, server string) error {
	return r.pages.notFound(c, err, public.MissingProps{
		What: "server " + clipped(publisher+"/"+server), Near: nearServers(c.UserContext(), r.catalog, publisher, server),
		AllLabel: "Search the catalog", AllURL: paths.Registry,
	}, layout.SectionRegistry)
}

// templatesWith returns the templates that refer to this entry by one of their
// server names.
func (r *Registry) templatesWith(e *models.CatalogEntry) []public.Template {
	const most = 6
	var with []*models.CatalogTemplate
	for _, t := range r.catalog.AllTemplates() {
		if len(with) == most {
			break
		}
		if slices.Contains(t.RelatedServerNames, e.ServerName) && slices.Contains(r.catalog.RelatedEntries(t), e) {
			with = append(with, t)
		}
	}
	return public.Templates(with)
}

// hasServer reports whether a project has the server of a catalog entry.
func hasServer(p *toolset.Snapshot, e *models.CatalogEntry) bool {
	return e.RemoteURL != "" && slices.ContainsFunc(p.Servers, func(s *toolset.Server) bool {
		return strings.EqualFold(strings.TrimSuffix(s.Config.URL, "/"), strings.TrimSuffix(e.RemoteURL, "/"))
	})
}

// addedTo returns the names of the projects that have a server, and the slug of
// the project to add it to: the current one unless it has the server.
func (r *Registry) addedTo(e *models.CatalogEntry, f layout.Frame) (names []string, slug string) {
	has := map[string]bool{}
	for _, p := range r.projects.All() {
		has[p.Project.Slug] = hasServer(p, e)
	}
	for _, o := range options(r.projects) {
		if has[o.Value] {
			names = append(names, o.Label)
		} else if slug == "" {
			slug = o.Value
		}
	}
	if here := f.Nav.Project; here != nil && !has[here.Slug] {
		slug = here.Slug
	}
	return names, slug
}

// addedHere returns the paths of the servers that the current project has.
func (r *Registry) addedHere(f layout.Frame, servers []public.CatalogEntry) map[string]bool {
	if f.Nav == nil || f.Nav.Project == nil {
		return nil
	}
	p, err := r.projects.Project(f.Nav.Project.Slug)
	if err != nil {
		return nil
	}
	added := map[string]bool{}
	for _, s := range servers {
		if hasServer(p, s.CatalogEntry) {
			added[s.Path()] = true
		}
	}
	return added
}
