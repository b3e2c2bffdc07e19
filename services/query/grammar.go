package query

import (
	"maps"
	"slices"
)

// Kind is the kind of values of a qualifier.
type Kind uint8

// The kinds of qualifiers.
const (
	// Text accepts any value. The surface decides between equality and
	// substring match.
	Text Kind = iota
	// Bool accepts true or false.
	Bool
	// Fixed accepts any value and has no effect, because the surface's result
	// type is fixed. Another type adds a warning.
	Fixed
)

// Grammar is the query grammar of a search surface: the singular name of its
// results and its qualifiers by lower-case name. Choices are the only values of
// some Text qualifiers, in lower case. It is immutable and safe for concurrent
// use.
type Grammar struct {
	Surface    string
	Qualifiers map[string]Kind
	Choices    map[string][]string
	// NoText refuses text clauses.
	NoText bool
}

// Tools returns the grammar of tool search.
func Tools() Grammar {
	return grammar("tool", map[string]Kind{"server": Text, "name": Text, "param": Text, "readonly": Bool, "destructive": Bool})
}

// Toolsets returns the grammar of the queries that select the tools of a
// toolset: the qualifiers of tool search. Text has no effect on membership,
// because descriptions are the words of the server.
func Toolsets() Grammar {
	g := Tools()
	g.Surface, g.NoText = "toolset", true
	delete(g.Qualifiers, "type")
	delete(g.Qualifiers, "entity")
	return g
}

// ToolList returns the grammar of the list of a project's tools: that of tool
// search with the access and the state of a tool.
func ToolList() Grammar {
	g := Tools()
	g.Qualifiers["access"], g.Qualifiers["state"] = Text, Text
	g.Choices = map[string][]string{"access": {"read", "write", "destructive"}, "state": {"on", "off", "approve"}}
	return g
}

// Registry returns the grammar of the server registry (spec, "Public catalog:
// registry").
func Registry() Grammar {
	return grammar("server", map[string]Kind{"transport": Text, "tag": Text, "publisher": Text, "verified": Bool, "featured": Bool})
}

// Templates returns the grammar of the template catalog (spec, "Public
// catalog: templates").
func Templates() Grammar {
	return grammar("template", map[string]Kind{"category": Text, "tag": Text})
}

// Events returns the grammar of the filters of events.
func Events() Grammar {
	return Grammar{Surface: "event", Qualifiers: map[string]Kind{"kind": Text, "project": Text, "action": Text}}
}

// grammar adds the qualifiers of all surfaces (spec, "Catalog query syntax",
// 5).
func grammar(surface string, qualifiers map[string]Kind) Grammar {
	qualifiers["type"], qualifiers["entity"] = Fixed, Fixed
	return Grammar{Surface: surface, Qualifiers: qualifiers}
}

// names returns the qualifiers with an effect, sorted.
func (g Grammar) names() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(g.Qualifiers)) {
		if g.Qualifiers[name] != Fixed {
			names = append(names, name)
		}
	}
	return names
}

// surfacesWith returns the surfaces, in the plural, that have the qualifier.
func surfacesWith(name string) []string {
	var surfaces []string
	for _, g := range []Grammar{Tools(), Registry(), Templates()} {
		if _, ok := g.Qualifiers[name]; ok {
			surfaces = append(surfaces, g.Surface+"s")
		}
	}
	return surfaces
}
