package public

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access/reach"
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
	e, err := r.Catalog.EntryByName(publisher, server)
	if fault.Is(err, fault.CodeNotFound) {
		return r.notFound(c, err, publisher, server)
	}
	if err != nil {
		return err
	}
	s := r.Pages.entries.one(e)
	f := r.Pages.frame(c, pageMeta{
		title: s.Title() + " by " + s.Publisher(), description: ui.Clean(e.Description), path: s.Path(), section: layout.SectionRegistry, data: r.Pages.software(s, s.Listed(r.check(s))), image: s.CardPath(),
		crumbs: []layout.Crumb{{Label: "Catalog", URL: paths.Registry}, {Label: "Servers", URL: paths.Registry}, {Label: s.Title()}},
	})
	props := public.RegistryItemProps{Frame: f, Server: s, Templates: r.templatesWith(e), Related: r.related(e), ReportURL: reportURL(r.Report, s)}
	props.Check = r.check(s)
	if f.Admin() {
		props.Projects = options(r.Directory)
	}
	if user := guard.UserOf(c); user != nil && !f.Admin() {
		if props.Request, err = r.request(c.UserContext(), user.ID, e.ID); err != nil {
			return err
		}
	}
	if f.Person != nil {
		r.addProjects(&props, reach.Of(c.UserContext()))
	}
	return render(c, f, public.RegistryItem(props))
}

// request returns the form with which a user requests an entry.
func (r *Registry) request(ctx context.Context, userID, entryID string) (*public.RequestForm, error) {
	rows, err := r.Requests.Own(ctx, userID)
	if err != nil {
		return nil, err
	}
	form := &public.RequestForm{Open: slices.ContainsFunc(rows, func(row models.CatalogRequest) bool {
		return row.EntryID == entryID && row.State == models.RequestOpen
	})}
	for _, p := range r.OwnProjects(userID) {
		form.Projects = append(form.Projects, ui.Option{Value: p.Project.Slug, Label: cmp.Or(ui.Clean(p.Project.Name), p.Project.Slug)})
	}
	return form, nil
}

func (r *Registry) notFound(c *fiber.Ctx, err error, publisher, server string) error {
	return r.Pages.notFound(c, err, public.MissingProps{
		What: "server " + clipped(publisher+"/"+server), Near: nearServers(c.UserContext(), r.Catalog, publisher, server),
		AllLabel: "Search the catalog", AllURL: paths.Registry,
	}, layout.SectionRegistry)
}

// templatesWith returns the templates that refer to this entry by one of their
// server names.
func (r *Registry) templatesWith(e *models.CatalogEntry) []public.Template {
	const most = 6
	var with []*models.CatalogTemplate
	for _, t := range r.Catalog.AllTemplates() {
		if len(with) == most {
			break
		}
		if slices.Contains(t.RelatedServerNames, e.ServerName) && slices.Contains(r.Catalog.RelatedEntries(t), e) {
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

// addProjects sets the number of the projects that have the server, the names of
// those that the user may see, and those to add it to: for administrators the
// current one is preselected unless it has the server.
func (r *Registry) addProjects(props *public.RegistryItemProps, mine reach.Reach) {
	const most = 5 // links of a maintainer
	has := map[string]bool{}
	for _, p := range r.Directory.All() {
		slug, name := p.Project.Slug, ui.Clean(cmp.Or(p.Project.Name, p.Project.Slug))
		has[slug] = hasServer(p, props.Server.CatalogEntry)
		switch {
		case has[slug]:
			props.UsedIn++
			if mine.Sees(&p.Project) {
				props.AddedTo = append(props.AddedTo, name)
			}
		case props.Project == "":
			props.Project = slug
		}
		if !has[slug] && mine.Administers(&p.Project) && len(props.Mine) < most {
			props.Mine = append(props.Mine, ui.Pair{Name: name, Value: addTo(slug, props.Server.ID)})
		}
	}
	if nav := props.Frame.Nav; nav != nil && nav.Project != nil && !has[nav.Project.Slug] {
		props.Project = nav.Project.Slug
	}
}

// addTo returns the page that adds the server of an entry to a project.
func addTo(slug, entryID string) string {
	return paths.NewServer(slug) + "?" + url.Values{"entry": {entryID}}.Encode()
}

// addedHere returns the paths of the servers that the current project has.
func (r *Registry) addedHere(f layout.Frame, servers []public.CatalogEntry) map[string]bool {
	if f.Nav == nil || f.Nav.Project == nil {
		return nil
	}
	p, err := r.Directory.Project(f.Nav.Project.Slug)
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
