package codemode

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
)

// normalizer turns a schema of any draft into one of 2020-12 that the library
// understands: only keywords that it judges as they are meant, references only
// to definitions of its own making. What it leaves out makes the check wider.
type normalizer struct {
	doc      *schemaDocument
	names    map[*schemaNode]string // of the definitions
	queue    []*schemaNode          // definitions that are still to be written
	branches int                    // alternatives and conditions
	depth    int                    // deepest level
	steps    int                    // instructions of compiled patterns
	nodes    int
	path     int // bytes of the path to the present part
	paths    int // of all parts together, which the library keeps
	err      error
	// inexact is set when something was left out. Then lenient drops what would
	// turn a wider part into a narrower whole: negations, conditions, and that
	// not more than one alternative may fit.
	inexact, lenient bool
}

// normalize returns the schema of a document for the library and how many
// instructions its patterns take. It returns an error that says why arguments
// cannot be checked against it.
func normalize(doc *schemaDocument) (*jsonschema.Schema, int, error) {
	if doc.mixed {
		return nil, 0, errors.New("parts of its schema have identifiers of their own")
	}
	schema, steps, inexact, err := normalizeAs(doc, false)
	if err == nil && inexact {
		schema, steps, _, err = normalizeAs(doc, true)
	}
	return schema, steps, err
}

func normalizeAs(doc *schemaDocument, lenient bool) (schema *jsonschema.Schema, steps int, inexact bool, err error) {
	z := &normalizer{doc: doc, names: map[*schemaNode]string{doc.root: "#"}, lenient: lenient}
	root := z.schema(doc.root, 1)
	defs := map[string]*jsonschema.Schema{}
	for len(z.queue) > 0 && z.err == nil {
		next := z.queue[0]
		z.queue = z.queue[1:]
		defs[z.names[next][len("#/$defs/"):]] = z.schema(next, 1)
	}
	switch {
	case z.err != nil:
		return nil, 0, false, z.err
	case z.branches*z.depth > MaxValidationCost:
		return nil, 0, false, fmt.Errorf("its schema has %d alternatives in %d levels, which is too much to check", z.branches, z.depth)
	case doc.circular():
		return nil, 0, false, errors.New("a part of its schema is defined by itself")
	}
	if len(defs) > 0 {
		root.Defs = defs
	}
	return root, z.steps, z.inexact, nil
}

func (z *normalizer) fail(format string, args ...any) {
	if z.err == nil {
		z.err = fmt.Errorf(format, args...)
	}
}

// below returns the schema at a place whose path is longer by a name.
func (z *normalizer) below(n *schemaNode, depth int, name string) *jsonschema.Schema {
	length := len("/patternProperties/") + len(name)
	z.path += length
	out := z.schema(n, depth+1)
	z.path -= length
	return out
}

func (z *normalizer) schema(n *schemaNode, depth int) *jsonschema.Schema {
	out := &jsonschema.Schema{}
	z.paths += z.path
	z.depth = max(z.depth, depth)
	if z.nodes++; z.nodes > 4*MaxNodes || z.paths > maxPathBytes {
		z.fail("its schema has too many parts")
	}
	switch {
	case z.err != nil || n.is('t'):
		return out
	case n.is('f'):
		out.Not = &jsonschema.Schema{}
		return out
	case !n.is('{'):
		z.fail("a part of its schema is no schema")
		return out
	}
	for _, unread := range [...]string{"$dynamicRef", "$recursiveRef", "unevaluatedProperties", "unevaluatedItems"} {
		z.inexact = z.inexact || n.has(unread)
	}
	if ref := n.string("$ref"); ref != "" {
		out.Ref = z.reference(ref)
		if z.doc.oldRefs {
			return out
		}
	}
	z.values(n, out)
	z.numbers(n, out)
	z.arrays(n, out, depth)
	z.objects(n, out, depth)
	z.combinations(n, out, depth)
	return out
}

func (z *normalizer) reference(ref string) string {
	target, _ := z.doc.resolve(ref)
	if target == nil {
		z.fail("its schema refers to another one, %s, which is not in it", oneLine(ref, MaxTagText))
		return ""
	}
	name := z.names[target]
	if name == "" {
		name = "#/$defs/r" + strconv.Itoa(len(z.names))
		z.names[target] = name
		z.queue = append(z.queue, target)
	}
	return name
}

func (z *normalizer) values(n *schemaNode, out *jsonschema.Schema) {
	types := n.types()
	nullable := n.get("nullable").is('t')
	if nullable && len(types) > 0 && !containsType(types, "null") {
		types = append(types[:len(types):len(types)], "null")
	}
	switch len(types) {
	case 0:
	case 1:
		out.Type = types[0]
	default:
		out.Types = types
	}
	if enum := n.get("enum"); enum.is('[') {
		out.Enum = make([]any, 0, len(enum.items)+1)
		for _, item := range enum.items {
			out.Enum = append(out.Enum, item.plain())
		}
		if nullable {
			out.Enum = append(out.Enum, nil)
		}
	}
	if value := n.get("const"); value != nil {
		plain := value.plain()
		out.Const = &plain
	}
	out.MinLength, out.MaxLength = n.bound("minLength"), n.bound("maxLength")
	switch p := n.string("pattern"); {
	case p == "":
	case z.usable(p):
		out.Pattern = p
	default:
		z.inexact = true
	}
}

func (z *normalizer) numbers(n *schemaNode, out *jsonschema.Schema) {
	out.Minimum, out.Maximum = n.number("minimum"), n.number("maximum")
	out.ExclusiveMinimum, out.ExclusiveMaximum = n.number("exclusiveMinimum"), n.number("exclusiveMaximum")
	if n.get("exclusiveMinimum").is('t') { // up to draft-04
		out.ExclusiveMinimum, out.Minimum = out.Minimum, nil
	}
	if n.get("exclusiveMaximum").is('t') {
		out.ExclusiveMaximum, out.Maximum = out.Maximum, nil
	}
	// The library divides doubles, which no fraction survives.
	if m := n.number("multipleOf"); m != nil && *m >= 1 && *m == math.Trunc(*m) {
		out.MultipleOf = m
	} else if m != nil {
		z.inexact = true
	}
}

func (z *normalizer) arrays(n *schemaNode, out *jsonschema.Schema, depth int) {
	first, items := n.list("prefixItems"), n.get("items")
	if items.is('[') {
		first, items = items.items, n.get("additionalItems")
	}
	for _, item := range first {
		out.PrefixItems = append(out.PrefixItems, z.below(item, depth, ""))
	}
	if items != nil {
		out.Items = z.below(items, depth, "")
	}
	out.MinItems, out.MaxItems = n.bound("minItems"), n.bound("maxItems")
	out.UniqueItems = n.get("uniqueItems").is('t')
	if contains := n.get("contains"); contains != nil {
		z.branches++
		out.Contains = z.below(contains, depth, "")
		if out.MinContains = n.bound("minContains"); !z.lenient {
			out.MaxContains = n.bound("maxContains")
		}
	}
}

func (z *normalizer) objects(n *schemaNode, out *jsonschema.Schema, depth int) {
	out.Required = n.strings("required")
	out.MinProperties, out.MaxProperties = n.bound("minProperties"), n.bound("maxProperties")
	out.Properties = z.schemas(n.object("properties"), depth)
	known := true
	for _, m := range n.object("patternProperties").all() {
		if !z.usable(m.name) {
			known, z.inexact = false, true
			continue
		}
		z.branches++
		if out.PatternProperties == nil {
			out.PatternProperties = map[string]*jsonschema.Schema{}
		}
		out.PatternProperties[m.name] = z.below(m.value, depth, m.name)
	}
	// Without one of the patterns it is not known which names are left over.
	if additional := n.get("additionalProperties"); additional != nil && known {
		out.AdditionalProperties = z.below(additional, depth, "")
	}
	if names := n.get("propertyNames"); names != nil {
		out.PropertyNames = z.below(names, depth, "")
	}
	for _, m := range n.object("dependentRequired").all() {
		z.dependency(out, m, depth)
	}
	for _, m := range n.object("dependentSchemas").all() {
		z.dependency(out, m, depth)
	}
	for _, m := range n.object("dependencies").all() {
		z.dependency(out, m, depth)
	}
}

func (z *normalizer) dependency(out *jsonschema.Schema, m schemaMember, depth int) {
	if m.value.is('[') {
		if out.DependentRequired == nil {
			out.DependentRequired = map[string][]string{}
		}
		for _, item := range m.value.items {
			out.DependentRequired[m.name] = append(out.DependentRequired[m.name], item.text)
		}
		return
	}
	z.branches++
	if out.DependentSchemas == nil {
		out.DependentSchemas = map[string]*jsonschema.Schema{}
	}
	out.DependentSchemas[m.name] = z.below(m.value, depth, m.name)
}

func (z *normalizer) schemas(n *schemaNode, depth int) map[string]*jsonschema.Schema {
	if n == nil {
		return nil
	}
	out := make(map[string]*jsonschema.Schema, len(n.members))
	for _, m := range n.members {
		out[m.name] = z.below(m.value, depth, m.name)
	}
	return out
}

func (z *normalizer) combinations(n *schemaNode, out *jsonschema.Schema, depth int) {
	out.AllOf, out.AnyOf, out.OneOf = z.list(n, "allOf", depth), z.list(n, "anyOf", depth), z.list(n, "oneOf", depth)
	if z.lenient {
		if out.OneOf != nil {
			out.AllOf = append(out.AllOf, &jsonschema.Schema{AnyOf: out.OneOf})
			out.OneOf = nil
		}
		return
	}
	out.Not, out.If, out.Then, out.Else = z.part(n, "not", depth), z.part(n, "if", depth), z.part(n, "then", depth), z.part(n, "else", depth)
}

func (z *normalizer) list(n *schemaNode, keyword string, depth int) []*jsonschema.Schema {
	var out []*jsonschema.Schema
	for _, branch := range n.list(keyword) {
		z.branches++
		out = append(out, z.below(branch, depth, ""))
	}
	return out
}

func (z *normalizer) part(n *schemaNode, keyword string, depth int) *jsonschema.Schema {
	part := n.get(keyword)
	if part == nil {
		return nil
	}
	z.branches++
	return z.below(part, depth, "")
}
