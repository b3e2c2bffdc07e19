package toolset

import (
	"crypto/sha256"
	"strings"
	"sync"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset/addresses"
	"mcpgateway/services/upstream"
)

// serverPart is a server's contribution to a snapshot. It is immutable, and snapshots
// of a project share unchanged parts, so that a change of one server is cheap.
type serverPart struct {
	server *Server
	all    []*Tool          // in upstream order
	shown  []*Tool          // the visible ones
	byName map[string]*Tool // by listed and full name

	offers       []offer // of an enabled server, in upstream order
	open         bool    // whether it has all resources of an enabled server
	prompts      map[string]*Prompt
	capabilities Capabilities

	// cut reports whether a shortened name of this server lacks its alias.
	cut bool
	// handshake reports whether a visible tool has another definition for older
	// clients.
	handshake bool
	// reduced reports whether a view lacks visible tools of the server.
	reduced bool
	// hash identifies the definitions of the visible tools.
	hash func() [sha256.Size]byte
}

// settings are the project settings that parts depend on.
type settings struct {
	nameLimit int
	disabled  map[string]bool // by full name
	book      *addresses.Book
}

func settingsOf(project *models.Project, book *addresses.Book) settings {
	s := settings{nameLimit: project.ToolNameLimit, book: book, disabled: make(map[string]bool, len(project.DisabledTools))}
	for _, name := range project.DisabledTools {
		s.disabled[name] = true
	}
	return s
}

// newPart returns the part of a server from its stored rows. Data derived from
// an unchanged definition is reused from before, which may be nil.
func newPart(before *Snapshot, server *Server, s settings, tools []models.Tool, listings []models.Listing) *serverPart {
	p := &serverPart{
		server: server, byName: make(map[string]*Tool, len(tools)), capabilities: capabilitiesOf(server),
		cut: s.nameLimit > 0 && len(server.Config.Alias)+len(Separator) > max(s.nameLimit-hashSuffix, 0),
	}
	filter := NewFilter(server.Config.AllowedTools, server.Config.DenyTools)
	names := nameTools(server.Config.ToolOverrides, tools)
	for _, row := range tools {
		p.add(before, filter, s, names, row)
	}
	server.OverrideWarnings = p.overrideWarnings()
	p.addOffers(s, listings)
	p.hash = p.hashOnce()
	return p
}

// hashOnce returns a function that hashes the visible definitions on its first
// call.
func (p *serverPart) hashOnce() func() [sha256.Size]byte {
	return sync.OnceValue(func() [sha256.Size]byte {
		h := sha256.New()
		for _, t := range p.shown {
			h.Write(t.Definition)
			h.Write([]byte{','}) // like the list
		}
		return [sha256.Size]byte(h.Sum(nil))
	})
}

func (p *serverPart) add(before *Snapshot, filter Filter, s settings, names naming, row models.Tool) {
	full := JoinName(p.server.Config.Alias, names.of(row.Name))
	o := newOverride(p.server.Config.ToolOverrides, row.Name)
	t := before.same(full, ShortenName(full, s.nameLimit), row.Definition, o)
	if t == nil {
		t = newTool(full, ShortenName(full, s.nameLimit), row.Definition, o)
	}
	if t == nil {
		return // syncs store only valid objects
	}
	t.address(s.book, p.server.Config.Alias)
	t.Tasks = TasksForbidden
	if p.capabilities.Tasks {
		t.Tasks = TaskSupportOf(t.Raw)
	}
	t.Upstream, t.Server, t.Hash, t.ChangedAt, t.Taken = row.Name, p.server, row.DefinitionHash, row.ChangedAt, names.taken[row.Name]
	t.setToolsetAccess(Access(row.ConfirmedAccess))
	if row.PreviousDefinition != "" {
		t.Previous = []byte(row.PreviousDefinition)
	}
	config := &p.server.Config
	t.Pending = config.DefinitionPolicy == models.PolicyApprove && row.ApprovedHash != row.DefinitionHash
	switch {
	case !config.Enabled:
		t.Hidden = HiddenByServer
	case config.Undeclared:
		t.Hidden = HiddenUndeclared
	case !filter.Allows(row.Name):
		t.Hidden = HiddenByFilter
	case s.disabled[full], s.disabled[t.OwnName()]:
		t.Hidden = HiddenByAdmin
	case t.Broken != "":
		t.Hidden = HiddenAsBroken
	case t.Taken != "":
		t.Hidden = HiddenByName
	case t.Override != nil && len(t.Override.Lost) > 0:
		t.Hidden = HiddenByOverride
	case t.Pending:
		t.Hidden = HiddenByApproval
	}
	p.all = append(p.all, t)
	p.byName[t.FullName] = t
	p.byName[t.Name] = t
	if t.Hidden == Visible {
		p.shown = append(p.shown, t)
		p.handshake = p.handshake || t.Handshake != nil
	}
}

// newTool returns a tool with the data derived from its names and definition,
// or nil if the definition is not an object. o may be nil.
func newTool(full, name, raw string, o *Override) *Tool {
	inspection := Inspect([]byte(raw))
	definition, err := rawjson.ParseObject(inspection.Definition, rawjson.Lenient)
	if err != nil {
		return nil
	}
	t := &Tool{Name: name, FullName: full, Repairs: inspection.Repairs, Broken: inspection.Broken, Raw: []byte(raw), Override: o, memo: &memo{}}
	// Syncs drop tools with invalid annotations.
	t.ParamHeaders, _ = upstream.ParseParamHeaders(t.Raw)
	t.ClientHeaders = t.ParamHeaders
	t.Own = hintsOf(definition.Object("annotations")).Access()
	o.apply(definition)
	relaxTasks(definition)
	annotations := definition.Object("annotations")
	t.Repeatable, t.Access, t.Hints = isRepeatable(annotations), accessOf(annotations), hintsOf(annotations)
	t.App = appOf(definition)
	t.own = exportDefinition(definition, name)
	t.Definition = t.own
	if o != nil && len(t.ParamHeaders) > 0 {
		t.ClientHeaders, _ = upstream.ParseParamHeaders(t.Definition)
	}
	t.Handshake, t.WrapsOutput = forHandshake(t.Definition)
	return t
}

// same returns the tool of this snapshot with the same names, definition and
// override, or nil.
func (s *Snapshot) same(full, name, raw string, o *Override) *Tool {
	if s == nil {
		return nil
	}
	t := s.tool(full)
	if t == nil || t.FullName != full || t.Name != name || string(t.Raw) != raw || !t.Override.Equal(o) {
		return nil
	}
	return &Tool{
		Name: name, FullName: full, Repairs: t.Repairs, Broken: t.Broken, Raw: t.Raw,
		own: t.own, Definition: t.Definition, ParamHeaders: t.ParamHeaders, ClientHeaders: t.ClientHeaders, Repeatable: t.Repeatable, Access: t.Access, App: t.App, Hints: t.Hints, Handshake: t.Handshake, WrapsOutput: t.WrapsOutput,
		Override: t.Override, Own: t.Own, memo: t.memo,
	}
}

// parts are a snapshot's parts ordered by alias, with an index of names.
type parts struct {
	ordered []*serverPart
	byAlias map[string]*serverPart
	byHost  map[string]*serverPart // by alias in lower case
	cut     []*serverPart          // with shortened names that lack the alias
}

// lookUp returns the item with an exported name. of returns the map of a part.
func lookUp[T any](p *parts, name string, of func(*serverPart) map[string]*T) *T {
	alias, _, _ := strings.Cut(name, Separator) // aliases never contain one
	if owner := p.byAlias[alias]; owner != nil {
		if found := of(owner)[name]; found != nil {
			return found
		}
	}
	for _, other := range p.cut {
		if found := of(other)[name]; found != nil {
			return found
		}
	}
	return nil
}

func toolsOf(p *serverPart) map[string]*Tool { return p.byName }

func promptsOf(p *serverPart) map[string]*Prompt { return p.prompts }
