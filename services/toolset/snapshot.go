package toolset

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
)

// Hidden says why a tool that exists is not offered; empty when it is.
type Hidden string

// The reasons for which a tool is "disabled" (JSON-RPC -32003, contract).
const (
	Visible          Hidden = ""
	HiddenByFilter   Hidden = "filtered out by the server's tool filter"
	HiddenByAdmin    Hidden = "switched off by an administrator"
	HiddenByServer   Hidden = "on a server that is disabled"
	HiddenByApproval Hidden = "waiting for an administrator to approve its definition"
	HiddenAsBroken   Hidden = "held back because clients could not read its definition"
)

// Server is one upstream server of a snapshot.
type Server struct {
	Config    models.Server
	Inventory *models.Inventory // nil before the first sync
	Target    *upstream.Target
}

// Tool is one upstream tool under its exported name.
type Tool struct {
	Name     string // as listed; shortened when the project limits names
	FullName string // always alias__tool
	Upstream string // the name its own server knows
	Server   *Server
	Hidden   Hidden
	Hash     string // of the upstream's raw definition
	// Repairs are what was mended in the definition, in words.
	Repairs []string
	// Broken is why the tool cannot be listed, in words; empty when it can.
	Broken string

	// Raw is the definition as the upstream sent it, Previous the one to
	// compare it with; nil when there was none.
	Raw, Previous []byte

	// Definition is the object of tools/list with the exported name: the
	// upstream's bytes but for what Inspect mends.
	Definition []byte
	// ParamHeaders are the arguments that also travel in headers.
	ParamHeaders upstream.ParamHeaders
	// Repeatable is set when the tool is annotated as read-only or idempotent.
	Repeatable bool
	// Handshake replaces Definition for clients up to revision 2025-11-25;
	// nil when they get the same.
	Handshake []byte
}

// Source is the stored state from which a snapshot is built.
type Source struct {
	Project     models.Project
	Servers     []models.Server
	Inventories map[string]*models.Inventory // by server id
	Tools       map[string][]models.Tool     // by server id, in upstream order
	Listings    map[string][]models.Listing  // by server id
}

// Snapshot is the immutable toolset of one project. Everything a call needs
// is in it; no database is read on the way.
type Snapshot struct {
	Project models.Project
	Servers []*Server // ordered by alias
	Tools   []*Tool   // the visible ones, by alias, then in upstream order
	Offers  *Offers

	Capabilities Capabilities

	parts     *parts
	all       []*Tool
	lists     [2]func() toolList // by era
	toolsHash func() string
	revision  int64 // of the project's toolset that this is; 0 when unknown
}

// toolList is tools/list for the clients of one era.
type toolList struct {
	pages [][]byte
	id    string // empty when there is one page only, which needs no cursor
}

// Targets makes the call target of a server's configuration.
type Targets func(models.Server) *upstream.Target

// Rebuild returns the snapshot of the stored state. What follows from a definition
// alone is taken over from an earlier snapshot of the project where that has
// the same definition. before may be nil.
func Rebuild(before *Snapshot, src Source, target Targets) *Snapshot {
	all := make([]*part, 0, len(src.Servers))
	s := settingsOf(&src.Project)
	for _, row := range src.Servers {
		server := &Server{Config: row, Inventory: src.Inventories[row.ID], Target: target(row)}
		all = append(all, newPart(before, server, s, src.Tools[row.ID], src.Listings[row.ID]))
	}
	slices.SortFunc(all, func(a, b *part) int { return cmp.Compare(a.server.Config.Alias, b.server.Config.Alias) })
	return assemble(src.Project, all)
}

// Refresh returns the snapshot that Build would return after syncs changed the
// inventories of the servers with the ids and nothing else. Of src it needs
// what is stored of these. Everything else is shared with the snapshot before,
// so that the cost is that of these servers.
func Refresh(before *Snapshot, ids []string, src Source) *Snapshot {
	s := settingsOf(&before.Project)
	all := slices.Clone(before.parts.ordered)
	for i, p := range all {
		id := p.server.Config.ID
		if slices.Contains(ids, id) {
			server := &Server{Config: p.server.Config, Inventory: src.Inventories[id], Target: p.server.Target}
			all[i] = newPart(before, server, s, src.Tools[id], src.Listings[id])
		}
	}
	return assemble(before.Project, all)
}

// assemble returns the snapshot of a project with the parts, which are in the
// order of their aliases. It looks at no definition; the lists are put together
// when somebody asks for them.
func assemble(project models.Project, ordered []*part) *Snapshot {
	s := &Snapshot{Project: project, parts: &parts{ordered: ordered, byAlias: make(map[string]*part, len(ordered))}}
	s.Servers = make([]*Server, 0, len(ordered))
	all, shown, handshake := 0, 0, false
	for _, p := range ordered {
		all, shown, handshake = all+len(p.all), shown+len(p.shown), handshake || p.handshake
		s.Servers = append(s.Servers, p.server)
		s.Capabilities = s.Capabilities.and(p.capabilities)
		s.parts.byAlias[p.server.Config.Alias] = p
		if p.cut {
			s.parts.cut = append(s.parts.cut, p)
		}
	}
	s.Tools = make([]*Tool, 0, shown)
	for _, p := range ordered {
		s.Tools = append(s.Tools, p.shown...)
	}
	if s.all = s.Tools; all > shown {
		s.all = make([]*Tool, 0, all)
		for _, p := range ordered {
			s.all = append(s.all, p.all...)
		}
	}
	s.Offers = newOffers(s.parts)
	s.lists[EraHandshake] = s.list(func(t *Tool) []byte {
		if t.Handshake != nil {
			return t.Handshake
		}
		return t.Definition
	})
	s.lists[EraStateless] = s.lists[EraHandshake]
	if handshake {
		s.lists[EraStateless] = s.list(func(t *Tool) []byte { return t.Definition })
	}
	s.toolsHash = sync.OnceValue(s.hash)
	return s
}

// list returns the function that puts tools/list together when it is first
// called.
func (s *Snapshot) list(definition func(*Tool) []byte) func() toolList {
	tools := s.Tools
	return sync.OnceValue(func() toolList {
		l := toolList{pages: buildPages(tools, definition)}
		if len(l.pages) > 1 {
			l.id = listID(l.pages)
		}
		return l
	})
}

// hash identifies the list that clients see. What the built-in tools are, and
// whether others are shown, is part of it.
func (s *Snapshot) hash() string {
	h := sha256.New()
	for _, p := range s.parts.ordered {
		if len(p.shown) > 0 {
			sum := p.hash()
			h.Write(sum[:])
		}
	}
	return fmt.Sprint(hex.EncodeToString(h.Sum(nil)[:8]), s.Project.CodeModeEnabled, s.Project.ToolExposure)
}

func (s *Snapshot) tool(name string) *Tool { return lookUp(s.parts, name, toolsOf) }

// AllTools returns every known tool, the hidden ones included, by alias and
// upstream order. The caller must not change the slice.
func (s *Snapshot) AllTools() []*Tool { return s.all }

// Server returns the server with the alias, or nil.
func (s *Snapshot) Server(alias string) *Server {
	if p := s.parts.byAlias[alias]; p != nil {
		return p.server
	}
	return nil
}

// Resolve returns the tool behind an exported name. It returns the faults
// TOOL_NOT_FOUND, with a message that says what to write instead,
// TOOL_DISABLED for a tool that exists but is hidden, and for a server whose
// tools could never be read the fault of its last sync: whether the tool
// exists is not known then.
func (s *Snapshot) Resolve(name string) (*Tool, error) {
	t := s.tool(name)
	if t == nil {
		if err := s.unread(name); err != nil {
			return nil, err
		}
		return nil, fault.New(fault.KindNotFound, fault.CodeToolNotFound, "%s", s.explainMissing(name))
	}
	switch t.Hidden {
	case Visible:
		return t, nil
	case HiddenAsBroken:
		return nil, fault.New(fault.KindDisabled, fault.CodeToolDisabled, "the tool %s is %s: %s", t.FullName, t.Hidden, t.Broken)
	default:
		return nil, fault.New(fault.KindDisabled, fault.CodeToolDisabled, "the tool %s is %s", t.FullName, t.Hidden)
	}
}

// unread returns the fault for a name on a server without an inventory, or
// nil when the name is on no such server.
func (s *Snapshot) unread(name string) error {
	alias, _, ok := SplitName(name)
	server := s.Server(alias)
	if !ok || server == nil || server.Inventory != nil && server.Inventory.SyncedAt != nil {
		return nil
	}
	switch {
	case !server.Config.Enabled:
		return fault.New(fault.KindDisabled, fault.CodeToolDisabled, "the tool %s is %s", clip(name, 128), HiddenByServer)
	case server.Inventory == nil || server.Inventory.ErrorCode == "":
		return fault.Upstream(fault.CodeUpstreamUnavailable, "the tools of server %s have not been read yet: try again in a moment", alias)
	default:
		return fault.Upstream(fault.Code(server.Inventory.ErrorCode), "the tools of server %s could not be read yet: %s", alias, server.Inventory.ErrorMessage)
	}
}

// explainMissing says why a name leads nowhere and what would.
func (s *Snapshot) explainMissing(name string) string {
	shown := fmt.Sprintf("%q", clip(name, 128))
	alias, tool, ok := SplitName(name)
	if !ok {
		var candidates []string
		for _, t := range s.Tools {
			if t.Upstream == name {
				candidates = append(candidates, t.Name)
			}
		}
		const form = "tools are called as alias__tool"
		switch {
		case len(candidates) == 0:
			return fmt.Sprintf("there is no tool %s: %s, for example as tools/list names them", shown, form)
		default:
			return fmt.Sprintf("there is no tool %s: %s, write %s", shown, form, strings.Join(candidates[:min(len(candidates), 5)], " or "))
		}
	}
	server := s.Server(alias)
	switch {
	case server == nil:
		return fmt.Sprintf("there is no tool %s: no server of this project has the alias %q", shown, clip(alias, 64))
	default:
		return fmt.Sprintf("there is no tool %s: server %s has no tool %q", shown, alias, clip(tool, 128))
	}
}

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}
