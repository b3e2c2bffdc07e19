package toolset

import (
	"slices"
	"strings"
	"sync"

	"mcpgateway/models"
)

// Selection selects the part of a project that a view contains.
type Selection struct {
	// Name identifies the selection among those of one snapshot.
	Name string
	// Tool reports whether a tool belongs to the view, hidden or not.
	Tool func(*Tool) bool
	// Offers reports whether the prompts and resources of a server with the tools
	// belong to the view.
	Offers func(alias string, tools []*Tool) bool
	// Names reports whether the selection names a server literally. A server
	// whose tools were never read is in the view then.
	Names func(alias string) bool
	// Toolsets returns the ids of the selected toolsets that have a tool.
	Toolsets func(*Tool) []string
	// WithoutPerson hides the tools of servers where users have their own
	// accounts, and leaves out what else they offer.
	WithoutPerson bool
	// Exposure replaces that of the project, unless it is empty.
	Exposure models.ToolExposure
}

// View returns the selected part of a project's snapshot. What is not selected
// doesn't exist in it. Definitions are shared with s.
func (s *Snapshot) View(selected Selection) *Snapshot {
	ordered := make([]*serverPart, 0, len(s.parts.ordered))
	for _, p := range s.parts.ordered {
		if selection := p.selected(selected); selection != nil {
			ordered = append(ordered, selection)
		}
	}
	project := s.Project
	if selected.Exposure != "" {
		project.ToolExposure = selected.Exposure
	}
	v := assemble(project, ordered, s.Addresses, false)
	v.view, v.Toolsets, v.toolsetsOf, v.WithoutPerson = selected.Name, s.Toolsets, selected.Toolsets, selected.WithoutPerson
	return v
}

// Key identifies the content of a snapshot for caches: the project and the
// selection of a view. A later snapshot of the same content has the same key.
func (s *Snapshot) Key() string {
	if s.view == "" {
		return s.Project.ID
	}
	return s.Project.ID + viewSeparator + s.view
}

// viewSeparator separates the project from the selection in Snapshot.Key. Ids
// never contain it.
const viewSeparator = "/"

// IsKeyOf reports whether a key that Key returned is of the project.
func IsKeyOf(key, projectID string) bool {
	id, _, _ := strings.Cut(key, viewSeparator)
	return id == projectID
}

// toolsetsOf is the key of the toolsets of a tool, derived from a view.
type toolsetsOf struct{ tool *Tool }

// ToolsetsOf returns the ids of the view's toolsets that have a tool of it. A
// snapshot of a whole project has none.
func (s *Snapshot) ToolsetsOf(t *Tool) []string {
	if s.toolsetsOf == nil {
		return nil
	}
	return Derive(s, toolsetsOf{t}, func() []string { return s.toolsetsOf(t) })
}

// ShowsAll reports whether the snapshot has every tool of a server that its
// project shows. It is true for snapshots of whole projects.
func (s *Snapshot) ShowsAll(server *Server) bool {
	p := s.parts.byAlias[server.Config.Alias]
	return p != nil && !p.reduced
}

// selected returns the selected part of p, p itself if all of it is selected,
// or nil if nothing is.
func (p *serverPart) selected(s Selection) *serverPart {
	v := &serverPart{server: p.server, byName: map[string]*Tool{}, cut: p.cut}
	for _, t := range p.all {
		if !s.Tool(t) {
			continue
		}
		v.all = append(v.all, t)
		v.byName[t.FullName], v.byName[t.Name] = t, t
		if t.Hidden == Visible {
			v.shown = append(v.shown, t)
			v.handshake = v.handshake || t.Handshake != nil
		}
	}
	offers := s.Offers(p.server.Config.Alias, p.all)
	if s.WithoutPerson && p.server.Config.IsPersonal() {
		if len(v.all) == 0 && !offers && !s.Names(p.server.Config.Alias) {
			return nil
		}
		return v.withoutPerson(p)
	}
	switch unread := p.server.Inventory == nil || p.server.Inventory.SyncedAt == nil; {
	case len(v.all) == len(p.all) && offers && len(p.all) > 0:
		return p
	case len(v.all) == 0 && !offers && (!unread || !s.Names(p.server.Config.Alias)):
		return nil
	}
	v.reduced = len(v.shown) < len(p.shown)
	v.capabilities = Capabilities{Logging: p.capabilities.Logging}
	if offers {
		v.open, v.offers, v.prompts, v.capabilities = p.open, p.offers, p.prompts, p.capabilities
	} else if slices.ContainsFunc(v.shown, func(t *Tool) bool { return len(t.App.URIs) > 0 }) {
		v.capabilities.Resources = true
	}
	v.hash = v.hashOnce()
	return v
}

// withoutPerson hides the tools of a server where users have their own accounts.
func (p *serverPart) withoutPerson(whole *serverPart) *serverPart {
	for i, t := range p.all {
		if t.Hidden != Visible {
			continue
		}
		hidden := *t
		hidden.Hidden = HiddenFromKeys
		p.all[i] = &hidden
		p.byName[t.FullName], p.byName[t.Name] = &hidden, &hidden
	}
	p.shown, p.handshake, p.reduced = nil, false, len(whole.shown) > 0
	p.hash = p.hashOnce()
	return p
}

// OlderThan reports whether a snapshot of a project was read before another.
func (s *Snapshot) OlderThan(other *Snapshot) bool { return s.revision < other.revision }

// Derive returns the value that build derives from the snapshot. It is built
// once for the key and kept as long as the snapshot.
func Derive[T any](s *Snapshot, key any, build func() T) T {
	v, ok := s.derived.Load(key)
	if !ok {
		v, _ = s.derived.LoadOrStore(key, sync.OnceValue(build))
	}
	return v.(func() T)()
}
