package toolset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
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

	all     []*Tool
	byName  map[string]*Tool
	byAlias map[string]*Server
	pages   [2][][]byte
	listID  [2]string

	toolsHash func() string
}

// Targets makes the call target of a server's configuration.
type Targets func(models.Server) *upstream.Target

// Build returns the snapshot of the stored state.
func Build(src Source, target Targets) *Snapshot { return Rebuild(nil, src, target) }

// Rebuild returns the same snapshot as Build. What follows from a definition
// alone is taken over from an earlier snapshot of the project where that has
// the same definition: a change of one server of many is to cost little. before
// may be nil.
func Rebuild(before *Snapshot, src Source, target Targets) *Snapshot {
	s := &Snapshot{Project: src.Project, byName: map[string]*Tool{}, byAlias: map[string]*Server{}}
	for _, row := range src.Servers {
		server := &Server{Config: row, Inventory: src.Inventories[row.ID], Target: target(row)}
		s.Servers = append(s.Servers, server)
		s.byAlias[row.Alias] = server
	}
	slices.SortFunc(s.Servers, func(a, b *Server) int { return cmp.Compare(a.Config.Alias, b.Config.Alias) })
	switchedOff := map[string]bool{}
	for _, name := range src.Project.DisabledTools {
		switchedOff[name] = true
	}
	for _, server := range s.Servers {
		filter := NewFilter(server.Config.AllowedTools, server.Config.DenyTools)
		for _, row := range src.Tools[server.Config.ID] {
			s.add(before, server, filter, switchedOff, row)
		}
	}
	s.pages[EraHandshake] = buildPages(s.Tools, func(t *Tool) []byte {
		if t.Handshake != nil {
			return t.Handshake
		}
		return t.Definition
	})
	s.pages[EraStateless] = s.pages[EraHandshake]
	if slices.ContainsFunc(s.Tools, func(t *Tool) bool { return t.Handshake != nil }) {
		s.pages[EraStateless] = buildPages(s.Tools, func(t *Tool) []byte { return t.Definition })
	}
	s.Offers = buildOffers(src.Project, s.Servers, src.Listings)
	s.Capabilities = capabilitiesOf(s.Servers)
	s.toolsHash = sync.OnceValue(func() string {
		// What the built-in tools are, and whether others are shown, is part of
		// the list that clients see.
		p := &src.Project
		return fmt.Sprint(listID(s.pages[EraStateless]), p.CodeModeEnabled, p.ToolExposure)
	})
	for era, pages := range s.pages {
		if len(pages) > 1 { // only a second page needs a cursor
			s.listID[era] = listID(pages)
		}
	}
	return s
}

func (s *Snapshot) add(before *Snapshot, server *Server, filter Filter, switchedOff map[string]bool, row models.Tool) {
	full := JoinName(server.Config.Alias, row.Name)
	t := before.same(full, ShortenName(full, s.Project.ToolNameLimit), row.Definition)
	if t == nil {
		t = newTool(full, ShortenName(full, s.Project.ToolNameLimit), row.Definition)
	}
	if t == nil {
		return // a sync stores valid objects only
	}
	t.Upstream, t.Server, t.Hash = row.Name, server, row.DefinitionHash
	if row.PreviousDefinition != "" {
		t.Previous = []byte(row.PreviousDefinition)
	}
	switch {
	case !server.Config.Enabled:
		t.Hidden = HiddenByServer
	case !filter.Allows(row.Name):
		t.Hidden = HiddenByFilter
	case switchedOff[full]:
		t.Hidden = HiddenByAdmin
	case t.Broken != "":
		t.Hidden = HiddenAsBroken
	case server.Config.DefinitionPolicy == models.PolicyApprove && row.ApprovedHash != row.DefinitionHash:
		t.Hidden = HiddenByApproval
	}
	s.all = append(s.all, t)
	s.byName[t.FullName] = t
	s.byName[t.Name] = t
	if t.Hidden == Visible {
		s.Tools = append(s.Tools, t)
	}
}

// newTool returns a tool with what follows from its names and its definition,
// or nil when that is no object.
func newTool(full, name, raw string) *Tool {
	inspection := Inspect([]byte(raw))
	definition, err := rawjson.ParseObject(inspection.Definition, rawjson.Lenient)
	if err != nil {
		return nil
	}
	t := &Tool{Name: name, FullName: full, Repairs: inspection.Repairs, Broken: inspection.Broken, Raw: []byte(raw)}
	// A sync keeps no tool with invalid annotations.
	t.ParamHeaders, _ = upstream.ParseParamHeaders(t.Raw)
	t.Definition = exportDefinition(definition, name)
	t.Handshake = repairForHandshake(t.Definition)
	return t
}

// same returns what newTool would, from a tool of this snapshot that was made
// of the same, or nil when there is none.
func (s *Snapshot) same(full, name, raw string) *Tool {
	if s == nil {
		return nil
	}
	t := s.byName[full]
	if t == nil || t.FullName != full || t.Name != name || string(t.Raw) != raw {
		return nil
	}
	return &Tool{
		Name: name, FullName: full, Repairs: t.Repairs, Broken: t.Broken, Raw: t.Raw,
		Definition: t.Definition, ParamHeaders: t.ParamHeaders, Handshake: t.Handshake,
	}
}

// AllTools returns every known tool, the hidden ones included, by alias and
// upstream order. The caller must not change the slice.
func (s *Snapshot) AllTools() []*Tool { return s.all }

// Server returns the server with the alias, or nil.
func (s *Snapshot) Server(alias string) *Server { return s.byAlias[alias] }

// Resolve returns the tool behind an exported name. It returns the faults
// TOOL_NOT_FOUND, with a message that says what to write instead,
// TOOL_DISABLED for a tool that exists but is hidden, and for a server whose
// tools could never be read the fault of its last sync: whether the tool
// exists is not known then.
func (s *Snapshot) Resolve(name string) (*Tool, error) {
	t, ok := s.byName[name]
	if !ok {
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
	server := s.byAlias[alias]
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
	server := s.byAlias[alias]
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
