package toolset

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset/override"
)

// The codes of the warnings about overrides.
const (
	WarnOverrideStale = "OVERRIDE_STALE" // an override no longer fits its tool
	WarnNameTaken     = "NAME_TAKEN"     // a tool is held back because another one has its name
)

// Override contains the changes that administrators made to a tool. It is nil for
// most tools.
type Override struct {
	models.ToolOverride
	override.Applied
	key string // identifies the override
}

// newOverride returns the override of a tool, or nil. It is not applied yet.
func newOverride(overrides models.ToolOverrides, tool string) *Override {
	o, ok := overrides[tool]
	if !ok {
		return nil
	}
	return &Override{ToolOverride: o, key: string(o.JSON())}
}

// apply changes the definition of the tool.
func (o *Override) apply(definition *rawjson.Object) {
	if o != nil {
		o.Applied = override.Apply(definition, &o.ToolOverride)
	}
}

// Local returns the exported name without the alias: that of the tool's
// override, or the server's own.
func (t *Tool) Local() string {
	_, local, _ := strings.Cut(t.FullName, Separator)
	return local
}

// OwnName returns the exported name that the tool has without an override.
func (t *Tool) OwnName() string { return JoinName(t.Server.Config.Alias, t.Upstream) }

// SameOverride reports whether two tools have the same override, or none.
func (t *Tool) SameOverride(other *Tool) bool { return t.Override.Equal(other.Override) }

// Equal reports whether two overrides, which may be nil, change the same.
func (o *Override) Equal(other *Override) bool {
	return o == other || o != nil && other != nil && o.key == other.key
}

// naming is the result of naming a server's tools. The zero value has the
// server's own names.
type naming struct {
	local map[string]string // name after the alias, by the server's own name
	taken map[string]string // own name of the tool that has the name, by the own name of the one held back
}

// Renames reports whether overrides give a tool another name.
func Renames(overrides models.ToolOverrides) bool {
	for _, o := range overrides {
		if o.As != "" {
			return true
		}
	}
	return false
}

// OwnNames returns the server's own names of its tools, in upstream order, by
// their exported names without the alias.
func OwnNames(overrides models.ToolOverrides, tools []models.Tool) map[string]string {
	names, own := nameTools(overrides, tools), make(map[string]string, len(tools))
	for _, row := range tools {
		own[names.of(row.Name)] = row.Name
	}
	return own
}

// nameTools names the tools of a server. A name that an override gives belongs
// to the first tool with it. Any other tool of that name is held back; it has a
// unique name for pages.
func nameTools(overrides models.ToolOverrides, tools []models.Tool) naming {
	if !Renames(overrides) {
		return naming{}
	}
	n := naming{local: make(map[string]string, len(tools)), taken: map[string]string{}}
	owner := make(map[string]string, len(tools))
	claim := func(tool, name string) {
		if other, is := owner[name]; is {
			n.taken[tool] = other
			return
		}
		owner[name], n.local[tool] = tool, name
	}
	for _, row := range tools {
		if as := overrides[row.Name].As; as != "" {
			claim(row.Name, as)
		}
	}
	for _, row := range tools {
		if overrides[row.Name].As == "" {
			claim(row.Name, row.Name)
		}
	}
	for _, row := range tools {
		if _, held := n.taken[row.Name]; held {
			sum := sha256.Sum256([]byte(row.Name))
			name := row.Name + "_" + hex.EncodeToString(sum[:])[:hashSuffix-1]
			for owner[name] != "" {
				name += "_"
			}
			owner[name], n.local[row.Name] = row.Name, name
		}
	}
	return n
}

// of returns the name of a tool after the alias.
func (n naming) of(tool string) string {
	if n.local == nil {
		return tool
	}
	return n.local[tool]
}

// overrideWarnings returns the warnings about the overrides of a part's server.
func (p *serverPart) overrideWarnings() []fault.Warning {
	overrides, alias := p.server.Config.ToolOverrides, p.server.Config.Alias
	if len(overrides) == 0 || p.server.Inventory == nil || p.server.Inventory.SyncedAt == nil {
		return nil
	}
	byOwn := make(map[string]*Tool, len(p.all))
	for _, t := range p.all {
		byOwn[t.Upstream] = t
	}
	var all []fault.Warning
	warn := func(code, format string, args ...any) {
		all = append(all, fault.Warning{Code: code, Message: fmt.Sprintf(format, args...)})
	}
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		t := byOwn[name]
		if t == nil {
			warn(WarnOverrideStale, "The override of %q has no effect: server %s has no such tool.", clip(name, 128), alias)
			continue
		}
		for _, lost := range t.Override.Lost {
			warn(WarnOverrideStale, "Tool %s is held back: its override fixes %q, which isn't a parameter of the tool.", t.FullName, clip(lost, 64))
		}
		for _, unused := range t.Override.Unused {
			warn(WarnOverrideStale, "The default of %q in the override of %s isn't used: it isn't a parameter of the tool.", clip(unused, 64), t.FullName)
		}
	}
	for _, t := range p.all {
		if t.Taken != "" {
			warn(WarnNameTaken, "Tool %q of server %s is held back: its name belongs to %q. Rename one of them.", clip(t.Upstream, 128), alias, clip(t.Taken, 128))
		}
	}
	return all
}

// OverrideWarnings returns the warnings about the overrides of a server with
// these synced tools.
func OverrideWarnings(server models.Server, tools []models.Tool) []fault.Warning {
	if len(server.ToolOverrides) == 0 {
		return nil
	}
	s := &Server{Config: server, Inventory: &models.Inventory{SyncedAt: new(time.Time)}}
	return newPart(nil, s, settings{}, tools, nil).server.OverrideWarnings
}

// DeclaredAccess returns the effect of the tool with a raw definition by the
// protocol's defaults: a tool without annotations is destructive, and a
// read-only one never is (MCP 2025-03-26, "ToolAnnotations").
func DeclaredAccess(raw []byte) Access {
	definition, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return AccessDestructive
	}
	return hintsOf(definition.Object("annotations")).Access()
}

// IsSafer reports whether an effect does less harm than another one.
func (a Access) IsSafer(than Access) bool { return a.harm() < than.harm() }

func (a Access) harm() int {
	switch a {
	case AccessRead:
		return 0
	case AccessWrite:
		return 1
	}
	return 2
}

// ConfirmedAccess returns the effect that toolsets go by after a sync found the
// raw definition. row is the stored tool, or the zero value. A less safe effect
// counts at once; a safer one has to be confirmed.
func ConfirmedAccess(row models.Tool, raw []byte) string {
	before, now := Access(row.ConfirmedAccess), DeclaredAccess(raw)
	if before == "" && row.Definition != "" {
		before = DeclaredAccess([]byte(row.Definition))
	}
	if before != "" && now.IsSafer(before) {
		return string(before)
	}
	return string(now)
}

// setToolsetAccess sets the effect that toolsets go by. confirmed is the stored one. What an
// administrator wrote in the override counts at once.
func (t *Tool) setToolsetAccess(confirmed Access) {
	t.ToolsetAccess, t.AccessPending = t.Hints.Access(), false
	if confirmed == "" || !t.Own.IsSafer(confirmed) {
		return
	}
	readOnly, destructive := confirmed == AccessRead, confirmed.harm() > AccessWrite.harm()
	if t.Override != nil {
		hints := t.Override.Annotations
		if hints.ReadOnlyHint != nil {
			readOnly = *hints.ReadOnlyHint
		}
		if hints.DestructiveHint != nil {
			destructive = *hints.DestructiveHint
		}
	}
	switch {
	case readOnly:
		t.ToolsetAccess = AccessRead
	case destructive:
		t.ToolsetAccess = AccessDestructive
	default:
		t.ToolsetAccess = AccessWrite
	}
	t.AccessPending = t.ToolsetAccess != t.Hints.Access()
}
