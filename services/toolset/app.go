package toolset

import (
	"fmt"
	"slices"
	"strings"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// App is the part of a tool's definition that concerns MCP Apps (extension
// io.modelcontextprotocol/ui).
type App struct {
	// URIs are the URIs of the tool's user interface: that of MCP Apps, then those
	// of its predecessors, without repetition.
	URIs []string
	// Only is set if models must not use the tool: its visibility lacks "model".
	Only bool
	// Callable is set if apps can call the tool: its visibility is absent or has
	// "app".
	Callable bool
}

// uiScheme begins the URI of every user interface.
const uiScheme = "ui://"

// appOf returns the part of a definition that concerns apps. A visibility that
// is not a list is ignored.
func appOf(definition *rawjson.Object) App {
	meta := definition.Object("_meta")
	if meta == nil {
		return App{Callable: true}
	}
	ui := meta.Object("ui")
	app := App{Callable: true}
	for _, raw := range [][]byte{ui.Get("resourceUri"), meta.Get("ui/resourceUri"), meta.Get("openai/outputTemplate")} {
		if uri, ok := rawjson.String(raw); ok && strings.HasPrefix(uri, uiScheme) && !slices.Contains(app.URIs, uri) {
			app.URIs = append(app.URIs, uri)
		}
	}
	seenBy, err := rawjson.Elements(ui.Get("visibility"), rawjson.Lenient)
	if err != nil {
		return app
	}
	has := func(who string) bool {
		return slices.ContainsFunc(seenBy, func(raw []byte) bool { return rawjson.EqualString(raw, who) })
	}
	app.Only, app.Callable = !has("model"), has("app")
	return app
}

// ForModels returns the tools that models may use, in the same order. It
// returns tools itself if none is left out.
func ForModels(tools []*Tool) []*Tool {
	first := slices.IndexFunc(tools, func(t *Tool) bool { return t.App.Only })
	if first < 0 {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t *Tool) bool { return t.App.Only })
}

// appTools is the key of the tools that apps can call, derived from a snapshot.
type appTools struct{}

// appTools returns the tools that apps can call by their names without alias:
// the visible ones of servers with an app.
func (s *Snapshot) appTools() map[string][]*Tool {
	return Derive(s, appTools{}, func() map[string][]*Tool {
		byName := map[string][]*Tool{}
		for _, p := range s.parts.ordered {
			if !slices.ContainsFunc(p.shown, func(t *Tool) bool { return len(t.App.URIs) > 0 }) {
				continue
			}
			for _, t := range p.shown {
				if t.App.Callable {
					byName[t.Local()] = append(byName[t.Local()], t)
				}
			}
		}
		return byName
	})
}

// Called returns the name of the tool that a client means by name in tools/call,
// for Resolve. Hosts forward the calls of an app with the name that its own
// server gave to the tool, and without the server. Such a name stands for the
// tool of the only server with an app that has it. If several have it, Called
// returns TOOL_AMBIGUOUS with the full names. Every other name is returned
// unchanged.
func (s *Snapshot) Called(name string) (string, error) {
	if s.find(name) != nil || s.parts.startsWithAlias(name) {
		return name, nil
	}
	switch tools := s.appTools()[name]; len(tools) {
	case 0:
		return name, nil
	case 1:
		return tools[0].FullName, nil
	default:
		return "", ambiguous(name, tools)
	}
}

// maxNamedCandidates is the maximum number of tools in the message of
// TOOL_AMBIGUOUS.
const maxNamedCandidates = 5

func ambiguous(name string, tools []*Tool) error {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.FullName
	}
	shown := strings.Join(names[:min(len(names), maxNamedCandidates)], ", ")
	if more := len(names) - maxNamedCandidates; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	f := fault.New(fault.KindNotFound, fault.CodeToolAmbiguous,
		"%d servers with an app have a tool %q: %s. The call doesn't say which app made it. Give each server its own project, or call a tool by its full name.", len(names), clip(name, 128), shown)
	f.Candidates = names
	return f
}
