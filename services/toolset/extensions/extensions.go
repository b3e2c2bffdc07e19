// Package extensions merges the protocol extensions of a project's servers into
// those that the gateway advertises.
package extensions

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/capabilities"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
)

// Limits for what a project advertises.
const (
	maxExtensions = 64      // by name
	maxName       = 256     // bytes
	maxSettings   = 4 << 10 // bytes, of one extension of one server
)

// official is the prefix of the extensions of the protocol itself.
const official = "io.modelcontextprotocol/"

// Supported are the official extensions besides ui that the gateway serves.
type Supported struct{ Tasks, Skills bool }

// passes reports whether an extension is advertised. Other official ones, such as
// those for authorization, describe the server's own endpoint.
func (s Supported) passes(name string) bool {
	switch name {
	case capabilities.UI:
		return true
	case capabilities.Tasks:
		return s.Tasks
	case capabilities.Skills:
		return s.Skills
	default:
		return !strings.HasPrefix(name, official) && name != "" && len(name) <= maxName
	}
}

// Of returns the raw object of the extensions that the servers of a view have, or
// nil without any. Servers of which the view shows nothing don't count.
func Of(view *toolset.Snapshot, supported Supported) []byte {
	return toolset.Derive(view, supported, func() []byte { return merge(view, supported) })
}

func merge(view *toolset.Snapshot, supported Supported) []byte {
	shown := map[*toolset.Server]bool{}
	app := false
	for _, t := range view.Tools {
		shown[t.Server] = true
		app = app || view.Project.ToolExposure != models.ExposeBuiltin && hasApp(t)
	}
	settings := map[string][][]byte{}
	for _, server := range view.Servers {
		if prompts, resources := view.Offers.Of(server.Config.Alias); !shown[server] && prompts+resources == 0 && !view.Offers.HasSkills(server.Config.Alias) {
			continue
		}
		for name, raw := range declaredBy(server) {
			if name == capabilities.Skills && !view.Offers.HasSkills(server.Config.Alias) {
				continue // the view lacks the server's resources
			}
			if supported.passes(name) && rawjson.Kind(raw) == '{' && len(raw) <= maxSettings {
				settings[name] = append(settings[name], raw)
			}
		}
	}
	if app && settings[capabilities.UI] == nil {
		settings[capabilities.UI] = [][]byte{[]byte("{}")}
	}
	return appendAll(settings)
}

// appendAll returns the raw object of all extensions, sorted by name.
func appendAll(settings map[string][][]byte) []byte {
	names := slices.Sorted(maps.Keys(settings))
	if len(names) == 0 {
		return nil
	}
	b := []byte{'{'}
	for i, name := range names[:min(len(names), maxExtensions)] {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(rawjson.AppendString(b, name), ':'), common(settings[name])...)
	}
	return append(b, '}')
}

// declaredBy returns the raw settings of the extensions that an enabled server
// declared, by name.
func declaredBy(server *toolset.Server) map[string][]byte {
	if !server.Config.IsOffered() || server.Inventory == nil || server.Inventory.Capabilities == "" {
		return nil
	}
	o, err := rawjson.ParseObject([]byte(server.Inventory.Capabilities), rawjson.Lenient)
	if err != nil {
		return nil
	}
	return maps.Collect(o.Object("extensions").All())
}

// common returns the settings that hold for all servers: their bytes if these are
// equal, and otherwise the members that are equal in all.
func common(all [][]byte) []byte {
	first := all[0]
	if !slices.ContainsFunc(all, func(raw []byte) bool { return !bytes.Equal(raw, first) }) {
		return first
	}
	kept, err := rawjson.ParseObject(first, rawjson.Lenient)
	if err != nil {
		return []byte("{}")
	}
	for _, raw := range all[1:] {
		other, err := rawjson.ParseObject(raw, rawjson.Lenient)
		if err != nil {
			return []byte("{}")
		}
		for _, name := range kept.Names() {
			if !capabilities.IsEqual(kept.Get(name), other.Get(name)) {
				kept.Delete(name)
			}
		}
	}
	return kept.Bytes()
}

// hasApp reports whether a tool has a user interface (MCP Apps).
func hasApp(t *toolset.Tool) bool {
	if !bytes.Contains(t.Definition, []byte(`"ui`)) {
		return false
	}
	definition, err := rawjson.ParseObject(t.Definition, rawjson.Lenient)
	if err != nil {
		return false
	}
	meta := definition.Object("_meta")
	if _, ok := meta.Object("ui").String("resourceUri"); ok {
		return true
	}
	_, ok := meta.String("ui/resourceUri")
	return ok
}
