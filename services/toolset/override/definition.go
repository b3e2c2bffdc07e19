// Package override applies what administrators changed about a tool: to its
// definition and to the arguments of its calls.
package override

import (
	"bytes"
	"maps"
	"slices"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
)

// Applied is a definition with the override of its tool.
type Applied struct {
	// Lost are the fixed arguments that are not parameters of the tool, and Unused
	// such arguments with a default, both sorted. A tool with lost ones must not
	// be offered: what an administrator fixed would no longer hold.
	Lost, Unused []string
	Arguments    *Arguments // nil if calls are sent as they are
}

// Apply changes the definition of a tool, which must have passed
// toolset.Inspect: texts and annotations are replaced, fixed arguments leave the
// inputSchema, and those with a default are no longer required.
func Apply(definition *rawjson.Object, o *models.ToolOverride) Applied {
	if o.Title != "" {
		definition.Set("title", rawjson.Quote(o.Title))
	}
	if o.Description != "" {
		definition.Set("description", rawjson.Quote(o.Description))
	}
	annotate(definition, o.Annotations)
	if len(o.Fixed)+len(o.Defaults) == 0 {
		return Applied{}
	}
	schema := definition.Object("inputSchema")
	if schema == nil { // the tool is hidden as broken
		return Applied{Lost: slices.Sorted(maps.Keys(o.Fixed))}
	}
	applied := applySchema(schema, o)
	definition.Set("inputSchema", schema.Bytes())
	return applied
}

// annotate replaces the annotations that have a value.
func annotate(definition *rawjson.Object, hints models.ToolAnnotations) {
	if hints == (models.ToolAnnotations{}) {
		return
	}
	annotations := definition.Object("annotations")
	if annotations == nil {
		annotations, _ = rawjson.ParseObject([]byte("{}"), rawjson.Lenient) // always valid
	}
	for _, hint := range []struct {
		name  string
		value *bool
	}{
		{"readOnlyHint", hints.ReadOnlyHint}, {"destructiveHint", hints.DestructiveHint},
		{"idempotentHint", hints.IdempotentHint}, {"openWorldHint", hints.OpenWorldHint},
	} {
		switch {
		case hint.value == nil:
		case *hint.value:
			annotations.Set(hint.name, []byte("true"))
		default:
			annotations.Set(hint.name, []byte("false"))
		}
	}
	definition.Set("annotations", annotations.Bytes())
}

// applySchema changes the inputSchema of a tool.
func applySchema(schema *rawjson.Object, o *models.ToolOverride) Applied {
	properties := schema.Object("properties")
	applied := Applied{Arguments: &Arguments{}}
	given := map[string]bool{} // by the gateway; true if fixed
	for _, a := range argumentsOf(o.Fixed) {
		if properties.Get(a.name) == nil {
			applied.Lost = append(applied.Lost, a.name)
			continue
		}
		applied.Arguments.fixed = append(applied.Arguments.fixed, a)
		given[a.name] = true
	}
	for _, a := range argumentsOf(o.Defaults) {
		if properties.Get(a.name) == nil {
			applied.Unused = append(applied.Unused, a.name)
			continue
		}
		applied.Arguments.defaults = append(applied.Arguments.defaults, a)
		properties.Set(a.name, withDefault(properties.Get(a.name), a))
		given[a.name] = false
	}
	if len(given) == 0 {
		applied.Arguments = nil
		return applied
	}
	schema.Set("properties", properties.Bytes())
	relax(schema, given, maxBranches)
	return applied
}

// withDefault returns the schema of a property with the default of an argument.
// A default with a reference is not shown, and the server's is no longer true.
func withDefault(property []byte, a argument) []byte {
	o, err := rawjson.ParseObject(property, rawjson.Lenient)
	if err != nil {
		return property
	}
	if o.Delete("default"); !a.refers {
		o.Set("default", a.value)
	}
	return o.Bytes()
}

// maxBranches is the maximum depth of changed branches, such as anyOf in anyOf.
const maxBranches = 8

// relax removes the fixed arguments from a schema and from its branches, and
// both kinds from the lists of required ones: the gateway adds them.
func relax(schema *rawjson.Object, given map[string]bool, depth int) {
	if properties := schema.Object("properties"); properties != nil {
		for name, fixed := range given {
			if fixed {
				properties.Delete(name)
			}
		}
		schema.Set("properties", properties.Bytes())
	}
	dropNames(schema, "required", given)
	if dependent := schema.Object("dependentRequired"); dependent != nil {
		for _, name := range dependent.Names() {
			dropNames(dependent, name, given)
		}
		schema.Set("dependentRequired", dependent.Bytes())
	}
	if depth == 0 {
		return
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		branches, err := rawjson.Elements(schema.Get(keyword), rawjson.Lenient)
		if err != nil {
			continue
		}
		for i, raw := range branches {
			if branch, err := rawjson.ParseObject(raw, rawjson.Lenient); err == nil {
				relax(branch, given, depth-1)
				branches[i] = branch.Bytes()
			}
		}
		schema.Set(keyword, list(branches))
	}
}

// dropNames removes names from a list of them. An empty list is removed, because
// draft-04 allows none.
func dropNames(o *rawjson.Object, member string, gone map[string]bool) {
	names, err := rawjson.Elements(o.Get(member), rawjson.Lenient)
	if err != nil {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(names), func(raw []byte) bool {
		name, _ := rawjson.String(raw)
		_, is := gone[name]
		return is
	})
	switch len(kept) {
	case len(names):
	case 0:
		o.Delete(member)
	default:
		o.Set(member, list(kept))
	}
}

// list returns a JSON array of raw values.
func list(items [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(items, []byte{','})...), ']')
}
