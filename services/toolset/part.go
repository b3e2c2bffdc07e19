package toolset

import (
	"crypto/sha256"
	"strings"
	"sync"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// part is what one server gives to a snapshot. It is immutable, so the snapshots
// of a project share the parts of the servers that did not change: a change of
// one server of many is to cost little.
type part struct {
	server *Server
	all    []*Tool          // in upstream order
	shown  []*Tool          // the visible ones of them
	byName map[string]*Tool // by the name as listed and the full one

	offers       []offer // of an enabled server, in upstream order
	prompts      map[string]*Prompt
	capabilities Capabilities

	// cut says that a shortened name of this server does not hold its alias.
	cut bool
	// handshake says that a visible tool is listed otherwise for older clients.
	handshake bool
	// hash identifies the definitions of the visible tools.
	hash func() [sha256.Size]byte
}

// settings are what parts depend on in the configuration of their project.
type settings struct {
	nameLimit   int
	switchedOff map[string]bool // by full name
}

func settingsOf(project *models.Project) settings {
	s := settings{nameLimit: project.ToolNameLimit, switchedOff: make(map[string]bool, len(project.DisabledTools))}
	for _, name := range project.DisabledTools {
		s.switchedOff[name] = true
	}
	return s
}

// newPart returns the part of a server with what is stored of it. What follows
// from a definition alone is taken over from an earlier snapshot of the project
// where that has the same definition; it may be nil.
func newPart(before *Snapshot, server *Server, s settings, tools []models.Tool, listings []models.Listing) *part {
	p := &part{
		server: server, byName: make(map[string]*Tool, len(tools)), capabilities: capabilitiesOf(server),
		cut: s.nameLimit > 0 && len(server.Config.Alias)+len(Separator) > max(s.nameLimit-hashSuffix, 0),
	}
	filter := NewFilter(server.Config.AllowedTools, server.Config.DenyTools)
	for _, row := range tools {
		p.add(before, filter, s, row)
	}
	p.addOffers(s, listings)
	p.hash = sync.OnceValue(func() [sha256.Size]byte {
		h := sha256.New()
		for _, t := range p.shown {
			h.Write(t.Definition)
			h.Write([]byte{','}) // as in the list
		}
		return [sha256.Size]byte(h.Sum(nil))
	})
	return p
}

func (p *part) add(before *Snapshot, filter Filter, s settings, row models.Tool) {
	full := JoinName(p.server.Config.Alias, row.Name)
	t := before.same(full, ShortenName(full, s.nameLimit), row.Definition)
	if t == nil {
		t = newTool(full, ShortenName(full, s.nameLimit), row.Definition)
	}
	if t == nil {
		return // a sync stores valid objects only
	}
	t.Upstream, t.Server, t.Hash = row.Name, p.server, row.DefinitionHash
	if row.PreviousDefinition != "" {
		t.Previous = []byte(row.PreviousDefinition)
	}
	config := &p.server.Config
	switch {
	case !config.Enabled:
		t.Hidden = HiddenByServer
	case !filter.Allows(row.Name):
		t.Hidden = HiddenByFilter
	case s.switchedOff[full]:
		t.Hidden = HiddenByAdmin
	case t.Broken != "":
		t.Hidden = HiddenAsBroken
	case config.DefinitionPolicy == models.PolicyApprove && row.ApprovedHash != row.DefinitionHash:
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
	t.Repeatable = isRepeatable(definition)
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
	t := s.tool(full)
	if t == nil || t.FullName != full || t.Name != name || string(t.Raw) != raw {
		return nil
	}
	return &Tool{
		Name: name, FullName: full, Repairs: t.Repairs, Broken: t.Broken, Raw: t.Raw,
		Definition: t.Definition, ParamHeaders: t.ParamHeaders, Repeatable: t.Repeatable, Handshake: t.Handshake,
	}
}

// parts are those of a snapshot, in the order of their aliases, and where names
// lead among them.
type parts struct {
	ordered []*part
	byAlias map[string]*part
	cut     []*part // whose shortened names do not hold their alias
}

// lookUp returns what an exported name stands for, in the map that of returns
// for each part.
func lookUp[T any](p *parts, name string, of func(*part) map[string]*T) *T {
	alias, _, _ := strings.Cut(name, Separator) // no alias holds one
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

func toolsOf(p *part) map[string]*Tool { return p.byName }

func promptsOf(p *part) map[string]*Prompt { return p.prompts }
