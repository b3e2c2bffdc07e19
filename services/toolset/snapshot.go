package toolset

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset/addresses"
	"mcpgateway/services/upstream"
)

// Hidden is the reason for which a tool is hidden, or empty.
type Hidden string

// The reasons for which a tool is hidden (JSON-RPC -32003, contract).
const (
	Visible          Hidden = ""
	HiddenByFilter   Hidden = "filtered out by the server's tool filter"
	HiddenByAdmin    Hidden = "disabled by an administrator"
	HiddenByServer   Hidden = "on a disabled server"
	HiddenUndeclared Hidden = "on a server that is not in its file"
	HiddenByApproval Hidden = "pending approval by an administrator"
	HiddenAsBroken   Hidden = "hidden because clients would reject its definition"
	HiddenByName     Hidden = "held back because another tool has its name"
	HiddenFromKeys   Hidden = "on a server that acts for people"
	HiddenByOverride Hidden = "held back because an argument that an administrator fixed is no longer a parameter"
	HiddenByCodeMode Hidden = "a recipe, and Code Mode is off in this project"
)

// Server is an upstream server of a snapshot.
type Server struct {
	Config    models.Server
	Inventory *models.Inventory // nil before the first sync
	Target    *upstream.Target
	// OverrideWarnings are the warnings about the overrides of its tools.
	OverrideWarnings []fault.Warning
	// IsGateway marks the gateway itself, whose tools are the recipes of the project.
	// It is the server of these tools, but not in Snapshot.Servers.
	IsGateway bool
}

// Tool is an upstream tool with its exported name.
type Tool struct {
	Name     string // as listed; shortened if the project limits names
	FullName string // always alias__tool, with the name of its override
	Upstream string // name on its server; see Local for the exported one
	Server   *Server
	Recipe   *models.Recipe // nil for a tool of an upstream server
	Hidden   Hidden
	Hash     string // of the upstream's raw definition
	// Repairs describe the repairs of the definition.
	Repairs []string
	// Broken is the reason for which the tool can't be listed, or empty.
	Broken string

	// Pending reports whether the definition requires an approval, also of a tool
	// that is hidden for another reason.
	Pending   bool
	ChangedAt time.Time // of the definition
	Access    Access
	App       App
	Hints     Hints // of the listed annotations, which may be overridden

	// Effects with the protocol's defaults: Own is that of the server's own
	// annotations. ToolsetAccess is the one that toolsets go by: that of Hints, unless
	// AccessPending reports that the server claims a safer one that is not
	// confirmed.
	Own, ToolsetAccess Access
	AccessPending      bool

	Override *Override // nil if there is none
	Taken    string    // own name of the tool that has this one's name, or empty

	// Raw is the definition from the upstream. Previous is the definition to
	// compare it with, or nil.
	Raw, Previous []byte

	// Definition is the object of tools/list: the upstream's bytes with the
	// exported name and the repairs.
	Definition []byte
	// ParamHeaders are the arguments that the server also receives in headers.
	// ClientHeaders are those that clients repeat, by the listed definition.
	ParamHeaders, ClientHeaders upstream.ParamHeaders
	// Repeatable reports whether the tool is annotated as read-only or
	// idempotent.
	Repeatable bool
	// Tasks describes whether the server runs the tool as a task (MCP 2025-11-25). It
	// is TasksForbidden for servers without that capability.
	Tasks TaskSupport
	// Handshake replaces Definition for clients up to revision 2025-11-25. It
	// is nil if they receive the same.
	Handshake []byte
	// WrapsOutput reports whether Handshake has the output schema in an object, so
	// that the structured content of its results must be wrapped too.
	WrapsOutput bool

	own  []byte // Definition with the server's own URIs
	memo *memo  // nil for tools that are not part of a snapshot
}

// memo holds values derived from the definition of a tool. Later snapshots with
// the same definition share it.
// It has few values, so that a list of them is smaller and faster than a map.
type memo struct{ first atomic.Pointer[memoValue] }

type memoValue struct {
	key, value any
	next       *memoValue
}

// Memo returns the value that build derives from a tool's names and definition.
// It is kept as long as the definition.
func Memo[T any](t *Tool, key any, build func() T) T {
	if t.memo == nil {
		return build()
	}
	var made *memoValue
	for {
		first := t.memo.first.Load()
		for v := first; v != nil; v = v.next {
			if v.key == key {
				return v.value.(T)
			}
		}
		if made == nil {
			made = &memoValue{key: key, value: build()}
		}
		made.next = first
		if t.memo.first.CompareAndSwap(first, made) {
			return made.value.(T)
		}
	}
}

// definition returns the object of tools/list for clients of the era, with the
// exported name.
func (t *Tool) definition(era Era) []byte {
	if era == EraHandshake && t.Handshake != nil {
		return t.Handshake
	}
	return t.Definition
}

// Source is the stored state of a snapshot.
type Source struct {
	Project     models.Project
	Toolsets    []models.Toolset
	Servers     []models.Server
	Inventories map[string]*models.Inventory // by server id
	Tools       map[string][]models.Tool     // by server id, in upstream order
	Listings    map[string][]models.Listing  // by server id
	Claims      []models.AddressClaim
	Recipes     []models.Recipe
}

// Snapshot is the immutable toolset of a project. Calls need no database query.
type Snapshot struct {
	Project models.Project
	Servers []*Server // ordered by alias
	Tools   []*Tool   // visible tools, by alias, then in upstream order
	Offers  *Offers
	// Toolsets are those of the project, by id.
	Toolsets map[string]*models.Toolset
	// Addresses resolves the addresses of resources. Views have that of their
	// project.
	Addresses *addresses.Book

	Capabilities Capabilities
	// Personal reports whether users have their own accounts at an enabled server.
	Personal bool
	// WithoutPerson reports whether the view is that of a caller who is not a user,
	// such as a project's own key.
	WithoutPerson bool

	derived    sync.Map // for Derive
	view       string   // name of the selection; empty for a whole project
	parts      *parts
	all        []*Tool
	lists      [2]func() toolList // by era
	toolsHash  func() string
	toolsetsOf func(*Tool) []string // of a view
	revision   int64                // toolset revision; 0 if unknown
	claims     []models.AddressClaim
}

// toolList is tools/list for one era.
type toolList struct {
	pages [][]byte
	id    string // empty if there is only one page, which needs no cursor
}

// Targets returns the call target of a server.
type Targets func(models.Server) *upstream.Target

// Rebuild returns the snapshot of the stored state. It reuses data derived from
// definitions that are unchanged since before, an earlier snapshot of the
// project or nil.
func Rebuild(before *Snapshot, src Source, target Targets) *Snapshot {
	servers := make([]*Server, len(src.Servers))
	for i, row := range src.Servers {
		servers[i] = &Server{Config: row, Inventory: src.Inventories[row.ID], Target: target(row)}
	}
	slices.SortFunc(servers, func(a, b *Server) int { return cmp.Compare(a.Config.Alias, b.Config.Alias) })
	book := bookOf(src.Claims, servers)
	s := settingsOf(&src.Project, book)
	all := make([]*serverPart, len(servers))
	for i, server := range servers {
		all[i] = newPart(before, server, s, src.Tools[server.Config.ID], src.Listings[server.Config.ID])
	}
	all = withRecipes(all, before, s, &src.Project, src.Recipes)
	next := assemble(src.Project, all, book, true)
	next.claims = src.Claims
	next.Toolsets = make(map[string]*models.Toolset, len(src.Toolsets))
	for i, t := range src.Toolsets {
		next.Toolsets[t.ID] = &src.Toolsets[i]
	}
	return next
}

// Refresh returns the snapshot that Build would return after syncs changed only
// the inventories of the servers with the ids. src needs only the rows of these
// servers, and all claims. Everything else is shared with before.
func Refresh(before *Snapshot, ids []string, src Source) *Snapshot {
	servers, renewed := slices.Clone(before.Servers), map[*Server]*Server{}
	for i, s := range servers {
		if slices.Contains(ids, s.Config.ID) {
			servers[i] = &Server{Config: s.Config, Inventory: src.Inventories[s.Config.ID], Target: s.Target}
			renewed[s] = servers[i]
		}
	}
	book := before.Addresses
	if !sameClaims(before.claims, src.Claims) || !slices.Equal(resourceServers(before.Servers), resourceServers(servers)) {
		book = bookOf(src.Claims, servers)
	}
	s := settingsOf(&before.Project, book)
	all := slices.Clone(before.parts.ordered)
	for i, p := range all {
		switch id, server := p.server.Config.ID, renewed[p.server]; {
		case server != nil:
			all[i] = newPart(before, server, s, src.Tools[id], src.Listings[id])
		case book != before.Addresses && !p.server.IsGateway:
			all[i] = p.addressed(book)
		}
	}
	next := assemble(before.Project, all, book, true)
	next.Toolsets, next.claims = before.Toolsets, src.Claims
	return next
}

// ToolsetsBySlug returns the toolsets of the project in the order of their slugs.
func (s *Snapshot) ToolsetsBySlug() []*models.Toolset {
	return slices.SortedFunc(maps.Values(s.Toolsets), func(a, b *models.Toolset) int { return cmp.Compare(a.Slug, b.Slug) })
}

// assemble returns the snapshot of a project from parts ordered by alias. It
// reads no definition; lists are created on first use.
func assemble(project models.Project, ordered []*serverPart, book *addresses.Book, whole bool) *Snapshot {
	s := &Snapshot{Project: project, Addresses: book, parts: &parts{
		ordered: ordered, byAlias: make(map[string]*serverPart, len(ordered)), byHost: make(map[string]*serverPart, len(ordered)),
	}}
	s.Servers = make([]*Server, 0, len(ordered))
	all, shown, handshake := 0, 0, false
	for _, p := range ordered {
		all, shown, handshake = all+len(p.all), shown+len(p.shown), handshake || p.handshake
		if !p.server.IsGateway {
			s.Servers = append(s.Servers, p.server)
		}
		s.Personal = s.Personal || p.server.Config.Enabled && p.server.Config.IsPersonal()
		s.Capabilities = s.Capabilities.and(p.capabilities)
		s.parts.byAlias[p.server.Config.Alias], s.parts.byHost[addresses.Fold(p.server.Config.Alias)] = p, p
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
	s.Offers = newOffers(s.parts, bareNamingOf(&project), book, whole)
	s.lists[EraHandshake] = s.list(EraHandshake)
	s.lists[EraStateless] = s.lists[EraHandshake]
	if handshake {
		s.lists[EraStateless] = s.list(EraStateless)
	}
	s.toolsHash = sync.OnceValue(s.hash)
	return s
}

// list returns a function that creates tools/list on its first call.
func (s *Snapshot) list(era Era) func() toolList {
	return sync.OnceValue(func() toolList {
		l := toolList{pages: buildPages(s.Tools, s.withoutOutputs(era, s.listedDefinition(era)))}
		if len(l.pages) > 1 {
			l.id = listID(l.pages)
		}
		return l
	})
}

// hash identifies the list for clients, including the built-in tools and the
// exposure.
func (s *Snapshot) hash() string {
	h := sha256.New()
	for _, p := range s.parts.ordered {
		if len(p.shown) > 0 {
			sum := p.hash()
			h.Write(sum[:])
		}
	}
	if s.Project.ToolNames == models.NamesBare {
		fmt.Fprint(h, models.NamesBare, s.prefixedTools())
	}
	return fmt.Sprint(hex.EncodeToString(h.Sum(nil)[:8]), s.Project.CodeModeEnabled, s.Project.ToolExposure, s.limitedServers())
}

func (s *Snapshot) tool(name string) *Tool { return lookUp(s.parts, name, toolsOf) }

// find returns the tool with an exported name, or the one that is listed with a
// name without alias.
func (s *Snapshot) find(name string) *Tool {
	if t := s.tool(name); t != nil {
		return t
	}
	return s.bareTools()[name]
}

// AllTools returns all tools including hidden ones, by alias and then in
// upstream order. The caller must not modify the slice.
func (s *Snapshot) AllTools() []*Tool { return s.all }

// Server returns the server with the alias, or nil. The gateway itself is a
// server here if the project has recipes.
func (s *Snapshot) Server(alias string) *Server {
	if p := s.parts.byAlias[alias]; p != nil {
		return p.server
	}
	return nil
}

// Resolve returns the tool with an exported name. It returns TOOL_NOT_FOUND
// with a correction, TOOL_DISABLED for a hidden tool, and for a server without
// inventory the fault of its last sync, because its tools are unknown.
func (s *Snapshot) Resolve(name string) (*Tool, error) {
	t := s.find(name)
	if t == nil {
		if err := s.pendingFault(name); err != nil {
			return nil, err
		}
		return nil, fault.New(fault.KindNotFound, fault.CodeToolNotFound, "%s", s.explainMissing(name))
	}
	switch t.Hidden {
	case Visible:
		return t, nil
	case HiddenFromKeys:
		return nil, upstream.PersonRequired(t.Server.Config.Alias)
	case HiddenAsBroken:
		return nil, fault.New(fault.KindDisabled, fault.CodeToolDisabled, "Tool %s is %s: %s.", t.FullName, t.Hidden, t.Broken)
	default:
		return nil, fault.New(fault.KindDisabled, fault.CodeToolDisabled, "Tool %s is %s.", t.FullName, t.Hidden)
	}
}

// pendingFault returns the fault for a name on a server without inventory, or nil for
// other names.
func (s *Snapshot) pendingFault(name string) error {
	alias, _, ok := SplitName(name)
	server := s.Server(alias)
	if !ok || server == nil || server.Inventory != nil && server.Inventory.SyncedAt != nil {
		return nil
	}
	switch {
	case s.WithoutPerson && server.Config.Enabled && server.Config.IsPersonal():
		return upstream.PersonRequired(alias)
	case !server.Config.Enabled:
		return fault.New(fault.KindDisabled, fault.CodeToolDisabled, "Tool %s is %s.", clip(name, 128), HiddenByServer)
	case server.Config.Undeclared:
		return fault.New(fault.KindDisabled, fault.CodeToolDisabled, "Tool %s is %s.", clip(name, 128), HiddenUndeclared)
	case (server.Inventory == nil || server.Inventory.ErrorCode == "") && server.Config.IsProgram():
		return fault.Upstream(fault.CodeUpstreamUnavailable, "The tools of server %s have not been synced yet: its program has to start once, and may be downloaded first. Retry in a minute, or see the page of the server.", alias)
	case server.Inventory == nil || server.Inventory.ErrorCode == "":
		return fault.Upstream(fault.CodeUpstreamUnavailable, "The tools of server %s have not been synced yet. Retry shortly.", alias)
	default:
		return fault.Upstream(fault.Code(server.Inventory.ErrorCode), "The tools of server %s have not been synced yet: %s", alias, server.Inventory.ErrorMessage)
	}
}

// explainMissing explains why a name doesn't exist and suggests others.
func (s *Snapshot) explainMissing(name string) string {
	shown := fmt.Sprintf("%q", clip(name, 128))
	alias, tool, ok := SplitName(name)
	if !ok {
		var candidates []string
		for _, t := range s.Tools {
			if t.Local() == name {
				candidates = append(candidates, t.Name)
			}
		}
		const form = "Tools are called as alias__tool"
		switch {
		case len(candidates) == 0:
			return fmt.Sprintf("There is no tool %s. %s; see tools/list.", shown, form)
		default:
			return fmt.Sprintf("There is no tool %s. %s: write %s.", shown, form, strings.Join(candidates[:min(len(candidates), 5)], " or "))
		}
	}
	server := s.Server(alias)
	switch {
	case alias == GatewayAlias && s.HasRecipes():
		return fmt.Sprintf("There is no tool %s. This project has no recipe %q.", shown, clip(tool, 128))
	case server == nil:
		return fmt.Sprintf("There is no tool %s. No server of this project has the alias %q.", shown, clip(alias, 64))
	default:
		return fmt.Sprintf("There is no tool %s. Server %s has no tool %q.", shown, alias, clip(tool, 128))
	}
}

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}
