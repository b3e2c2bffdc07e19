package palette

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"mcpgateway/services/access/reach"
	"mcpgateway/services/catalog"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

// Number of hits in each group.
const (
	maxPlaces  = 8
	maxActions = 5
	maxCatalog = 3
)

// search is one query.
type search struct {
	*Palette
	text string
	slug string // of the current project; may be empty
	mine reach.Reach
}

// project returns the current project, or nil if there is none that the user may
// see.
func (s *search) project() *toolset.Snapshot {
	p, err := s.pages.Directory.Project(s.slug)
	if err != nil || !s.mine.Sees(&p.Project) {
		return nil
	}
	return p
}

// rank returns how well a name matches the query: 3 for its beginning, 2 for the
// beginning of a word, 1 for a part, and 0 for none.
func (s *search) rank(name string) int {
	lower, text := strings.ToLower(name), strings.ToLower(s.text)
	at := strings.Index(lower, text)
	switch {
	case at < 0:
		return 0
	case at == 0:
		return 3
	case strings.ContainsAny(lower[at-1:at], " _-/.:"):
		return 2
	}
	return 1
}

// ranked is a hit with its rank.
type ranked struct {
	views.PaletteHit
	rank int
}

// best returns the n best hits. Equal ones stay in their order.
func best(hits []ranked, n int) []views.PaletteHit {
	slices.SortStableFunc(hits, func(a, b ranked) int { return cmp.Compare(b.rank, a.rank) })
	var list []views.PaletteHit
	for _, h := range hits[:min(len(hits), n)] {
		list = append(list, h.PaletteHit)
	}
	return list
}

// groups returns the hits by kind.
func (s *search) groups(ctx context.Context) ([]views.PaletteGroup, error) {
	places, err := s.places(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.entries(ctx)
	if err != nil {
		return nil, err
	}
	var groups []views.PaletteGroup
	for _, g := range []views.PaletteGroup{{Name: "Go to", Hits: places}, {Name: "Do", Hits: s.actions()}, {Name: "Catalog", Hits: rows}} {
		if len(g.Hits) > 0 {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// places returns pages: those of the current project first.
func (s *search) places(ctx context.Context) ([]views.PaletteHit, error) {
	var hits []ranked
	add := func(name string, more int, hit views.PaletteHit) {
		if rank := s.rank(name); rank > 0 {
			hits = append(hits, ranked{hit, 10*rank + more})
		}
	}
	for _, p := range s.mine.Visible(s.pages.Directory.All()) {
		s.addProject(p, add)
	}
	if s.text != "" {
		if err := s.addKeysAndUsers(ctx, add); err != nil {
			return nil, err
		}
	}
	for _, page := range layout.AdminPages(!s.mine.SeesAll()) {
		add(page.Label, 4, views.PaletteHit{Label: page.Label, Icon: page.Icon, Note: "Page", URL: page.URL})
	}
	return best(hits, maxPlaces), nil
}

// addProject adds a project with its servers, toolsets, tools and pages.
func (s *search) addProject(p *toolset.Snapshot, add func(name string, more int, hit views.PaletteHit)) {
	here := p.Project.Slug == s.slug
	name := ui.Clean(cmp.Or(p.Project.Name, p.Project.Slug))
	add(name, 5+b2i(here), views.PaletteHit{Label: name, Tile: name, Note: "Project", URL: paths.Project(p.Project.Slug)})
	if here {
		for _, page := range layout.ProjectPages(p.Project.Slug, !s.mine.SeesAll()) {
			add(page.Label, 4, views.PaletteHit{Label: page.Label, Icon: page.Icon, Note: name, URL: page.URL})
		}
	}
	if s.text == "" {
		return
	}
	for _, server := range p.Servers {
		alias := server.Config.Alias
		add(alias, 6+b2i(here), views.PaletteHit{Label: alias, Tile: alias, Note: "Server · " + name, URL: paths.Server(p.Project.Slug, server.Config.ID)})
	}
	for _, row := range p.ToolsetsBySlug() {
		label := ui.Clean(cmp.Or(row.Name, row.Slug))
		add(label+" "+row.Slug, 3+b2i(here), views.PaletteHit{Label: label, Icon: "list-checks", Note: "Toolset · " + name, URL: paths.Toolset(p.Project.Slug, row.ID)})
	}
	for _, t := range p.AllTools() {
		add(t.FullName, b2i(here), views.PaletteHit{Label: t.FullName, Tile: t.Server.Config.Alias, Note: "Tool · " + name, URL: paths.Tool(p.Project.Slug, t.FullName)})
	}
}

// addKeysAndUsers adds the keys of the current project and the users, which
// maintainers don't see.
func (s *search) addKeysAndUsers(ctx context.Context, add func(name string, more int, hit views.PaletteHit)) error {
	if p := s.project(); p != nil {
		list, err := s.keys.List(ctx, p.Project.ID)
		if err != nil {
			return err
		}
		for _, k := range list {
			name := ui.Clean(k.Name)
			add(name, 2, views.PaletteHit{Label: name, Icon: "key-round", Note: "Key · " + ui.Clean(cmp.Or(p.Project.Name, p.Project.Slug)), URL: paths.Key(s.slug, k.ID)})
		}
	}
	if !s.mine.SeesAll() {
		return nil
	}
	people, err := s.users.List(ctx)
	for _, u := range people {
		name := ui.Clean(cmp.Or(u.Name, u.Email))
		add(name+" "+u.Email, 2, views.PaletteHit{Label: name, Icon: "user", Note: "Person", URL: paths.Person(u.ID)})
	}
	return err
}

// actions returns what the user can do.
func (s *search) actions() []views.PaletteHit {
	var hits []ranked
	add := func(hit views.PaletteHit) {
		if rank := s.rank(hit.Label); rank > 0 || s.text == "" {
			hits = append(hits, ranked{hit, rank})
		}
	}
	if p := s.project(); p != nil && s.mine.Administers(&p.Project) {
		slug := p.Project.Slug
		add(views.PaletteHit{Label: "Add server…", Icon: "plus", Keys: []string{"c", "s"}, URL: paths.NewServer(slug)})
		add(views.PaletteHit{Label: "Create key…", Icon: "key-round", Keys: []string{"c", "k"}, URL: paths.NewKey(slug)})
		if n := s.pages.Navigation.Of(s.mine, slug).Project; n != nil && n.Approve > 0 {
			add(views.PaletteHit{Label: "Review " + ui.Plural(n.Approve, "tool", "tools") + "…", Icon: "check-check", URL: paths.ToolReview(slug)})
		}
		for _, server := range p.Servers {
			if s.text != "" {
				add(views.PaletteHit{Label: "Calls of " + server.Config.Alias, Icon: "activity", URL: paths.Activity(slug) + "?query=server:" + server.Config.Alias})
			}
		}
	}
	if !s.mine.AdministersAll() {
		return best(hits, maxActions)
	}
	add(views.PaletteHit{Label: "New project…", Icon: "folder", Keys: []string{"c", "p"}, URL: paths.NewProject})
	add(views.PaletteHit{Label: "Import projects and servers…", Icon: "upload", URL: paths.Import})
	return best(hits, maxActions)
}

// entries returns servers of the catalog.
func (s *search) entries(ctx context.Context) ([]views.PaletteHit, error) {
	if s.text == "" {
		return nil, nil
	}
	var hits []ranked
	for _, entry := range s.catalog.AllEntries() {
		title := ui.Clean(cmp.Or(entry.ServerTitle, entry.ServerName))
		if rank := s.rank(title); rank > 1 {
			note := "Add to a project"
			if !catalog.Remote(entry) {
				note = "Runs as a program"
			} else if !s.mine.AdministersAll() && !s.mine.Maintains() {
				note = "Catalog"
			}
			hits = append(hits, ranked{views.PaletteHit{Label: title, Tile: title, Note: note, URL: paths.RegistryEntry(entry.PublisherName, entry.ServerName)}, rank})
		}
	}
	return best(hits, maxCatalog), nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
