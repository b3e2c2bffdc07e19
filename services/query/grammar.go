package query

import (
	"maps"
	"slices"
)

// Kind says what values a qualifier takes.
type Kind uint8

// The kinds of qualifiers.
const (
	// Text takes any value; whether it means equality or a substring is up to
	// the surface.
	Text Kind = iota
	// Bool takes true or false.
	Bool
	// Fixed takes any value and has no effect: what a surface finds is fixed.
	// A value that names something else adds a warning.
	Fixed
)

// Grammar is what one search surface understands: the name of what it finds,
// in the singular, and its qualifiers by lower-case name. It is not changed
// once it is made, and then safe for concurrent use.
type Grammar struct {
	Surface    string
	Qualifiers map[string]Kind
}

// Tools returns the grammar of the search for a project's tools.
func Tools() Grammar {
	return grammar("tool", map[string]Kind{"server": Text, "name": Text, "param": Text, "readonly": Bool, "destructive": Bool})
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

// grammar adds what every surface accepts (spec, "Catalog query syntax", 5).
func grammar(surface string, qualifiers map[string]Kind) Grammar {
	qualifiers["type"], qualifiers["entity"] = Fixed, Fixed
	return Grammar{Surface: surface, Qualifiers: qualifiers}
}

// names returns the qualifiers that select something, in alphabetical order.
func (g Grammar) names() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(g.Qualifiers)) {
		if g.Qualifiers[name] != Fixed {
			names = append(names, name)
		}
	}
	return names
}

// homes returns the surfaces, in the plural, that have a qualifier of the
// name. It is asked only when this surface has none.
func homes(name string) []string {
	var surfaces []string
	for _, g := range []Grammar{Tools(), Registry(), Templates()} {
		if _, ok := g.Qualifiers[name]; ok {
			surfaces = append(surfaces, g.Surface+"s")
		}
	}
	return surfaces
}
