package schema

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
)

// normalizer converts a schema of any draft to 2020-12 for the library. It
// keeps only keywords that the library evaluates correctly, and references only
// to definitions that it creates. Whatever it omits makes the validation more
// permissive.
type normalizer struct {
	doc      *Document
	names    map[*Node]string // names of the definitions
	queue    []*Node          // definitions still to be written
	branches int              // number of alternatives and conditions
	depth    int              // deepest level
	steps    int              // instructions of compiled patterns
	nodes    int
	path     int // bytes of the path to the current part
	paths    int // bytes of the paths of all parts, which the library stores
	err      error
	// inexact is set when something was omitted. Then lenient also drops
	// keywords for which a more permissive part makes the whole stricter:
	// negations, conditions, and oneOf's limit of one match.
	inexact, lenient bool
}

// normalize returns the schema of a document for the library and the number of
// instructions of its patterns. It returns an error with the reason when
// arguments can't be validated against it.
func normalize(doc *Document) (*jsonschema.Schema, int, error) {
	if doc.mixed {
		return nil, 0, errors.New("parts of its schema have their own identifiers")
	}
	schema, steps, inexact, err := normalizeAs(doc, false)
	if err == nil && inexact {
		schema, steps, _, err = normalizeAs(doc, true)
	}
	return schema, steps, err
}

func normalizeAs(doc *Document, lenient bool) (schema *jsonschema.Schema, steps int, inexact bool, err error) {
	z := &normalizer{doc: doc, names: map[*Node]string{doc.root: "#"}, lenient: lenient}
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
		return nil, 0, false, fmt.Errorf("its schema has %d alternatives in %d levels, too many to check", z.branches, z.depth)
	case doc.circular():
		return nil, 0, false, errors.New("a part of its schema refers only to itself")
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

// below returns the schema one level deeper, at a path longer by name.
func (z *normalizer) below(n *Node, depth int, name string) *jsonschema.Schema {
	length := len("/patternProperties/") + len(name)
	z.path += length
	out := z.schema(n, depth+1)
	z.path -= length
	return out
}

func (z *normalizer) schema(n *Node, depth int) *jsonschema.Schema {
	out := &jsonschema.Schema{}
	z.paths += z.path
	z.depth = max(z.depth, depth)
	if z.nodes++; z.nodes > 4*MaxNodes || z.paths > maxPathBytes {
		z.fail("its schema has too many parts")
	}
	switch {
	case z.err != nil || n.Is('t'):
		return out
	case n.Is('f'):
		out.Not = &jsonschema.Schema{}
		return out
	case !n.Is('{'):
		z.fail("a part of its schema is not a valid schema")
		return out
	}
	for _, unread := range [...]string{"$dynamicRef", "$recursiveRef", "unevaluatedProperties", "unevaluatedItems"} {
		z.inexact = z.inexact || n.Has(unread)
	}
	if ref := n.StringOf("$ref"); ref != "" {
		out.Ref = z.reference(ref)
		if z.doc.RefsOnly {
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
	target, _ := z.doc.Resolve(ref)
	if target == nil {
		z.fail("its schema refers to %s, which it doesn't contain", OneLine(ref, MaxTagText))
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

func (z *normalizer) values(n *Node, out *jsonschema.Schema) {
	types := n.Types()
	nullable := n.Get("nullable").Is('t')
	if nullable && len(types) > 0 && !slices.Contains(types, "null") {
		types = append(types[:len(types):len(types)], "null")
	}
	switch len(types) {
	case 0:
	case 1:
		out.Type = types[0]
	default:
		out.Types = types
	}
	if enum := n.Get("enum"); enum.Is('[') {
		out.Enum = make([]any, 0, len(enum.Items)+1)
		for _, item := range enum.Items {
			out.Enum = append(out.Enum, item.plain())
		}
		if nullable {
			out.Enum = append(out.Enum, nil)
		}
	}
	if value := n.Get("const"); value != nil {
		plain := value.plain()
		out.Const = &plain
	}
	out.MinLength, out.MaxLength = n.boundOf("minLength"), n.boundOf("maxLength")
	switch p := n.StringOf("pattern"); {
	case p == "":
	case z.usable(p):
		out.Pattern = p
	default:
		z.inexact = true
	}
}

func (z *normalizer) numbers(n *Node, out *jsonschema.Schema) {
	out.Minimum, out.Maximum = n.NumberOf("minimum"), n.NumberOf("maximum")
	out.ExclusiveMinimum, out.ExclusiveMaximum = n.NumberOf("exclusiveMinimum"), n.NumberOf("exclusiveMaximum")
	if n.Get("exclusiveMinimum").Is('t') { // draft-04 and earlier
		out.ExclusiveMinimum, out.Minimum = out.Minimum, nil
	}
	if n.Get("exclusiveMaximum").Is('t') {
		out.ExclusiveMaximum, out.Maximum = out.Maximum, nil
	}
	// The library divides doubles, which is not exact for fractions.
	if m := n.NumberOf("multipleOf"); m != nil && *m >= 1 && *m == math.Trunc(*m) {
		out.MultipleOf = m
	} else if m != nil {
		z.inexact = true
	}
}

func (z *normalizer) arrays(n *Node, out *jsonschema.Schema, depth int) {
	first, items := n.ListOf("prefixItems"), n.Get("items")
	if items.Is('[') {
		first, items = items.Items, n.Get("additionalItems")
	}
	for _, item := range first {
		out.PrefixItems = append(out.PrefixItems, z.below(item, depth, ""))
	}
	if items != nil {
		out.Items = z.below(items, depth, "")
	}
	out.MinItems, out.MaxItems = n.boundOf("minItems"), n.boundOf("maxItems")
	out.UniqueItems = n.Get("uniqueItems").Is('t')
	if contains := n.Get("contains"); contains != nil {
		z.branches++
		out.Contains = z.below(contains, depth, "")
		if out.MinContains = n.boundOf("minContains"); !z.lenient {
			out.MaxContains = n.boundOf("maxContains")
		}
	}
}

func (z *normalizer) objects(n *Node, out *jsonschema.Schema, depth int) {
	out.Required = n.StringsOf("required")
	out.MinProperties, out.MaxProperties = n.boundOf("minProperties"), n.boundOf("maxProperties")
	out.Properties = z.schemas(n.ObjectOf("properties"), depth)
	known := true
	for _, m := range n.ObjectOf("patternProperties").All() {
		if !z.usable(m.Name) {
			known, z.inexact = false, true
			continue
		}
		z.branches++
		if out.PatternProperties == nil {
			out.PatternProperties = map[string]*jsonschema.Schema{}
		}
		out.PatternProperties[m.Name] = z.below(m.Value, depth, m.Name)
	}
	// Without one of the patterns the remaining names are unknown.
	if additional := n.Get("additionalProperties"); additional != nil && known {
		out.AdditionalProperties = z.below(additional, depth, "")
	}
	if names := n.Get("propertyNames"); names != nil {
		out.PropertyNames = z.below(names, depth, "")
	}
	for _, m := range n.ObjectOf("dependentRequired").All() {
		z.dependency(out, m, depth)
	}
	for _, m := range n.ObjectOf("dependentSchemas").All() {
		z.dependency(out, m, depth)
	}
	for _, m := range n.ObjectOf("dependencies").All() {
		z.dependency(out, m, depth)
	}
}

func (z *normalizer) dependency(out *jsonschema.Schema, m Member, depth int) {
	if m.Value.Is('[') {
		if out.DependentRequired == nil {
			out.DependentRequired = map[string][]string{}
		}
		for _, item := range m.Value.Items {
			out.DependentRequired[m.Name] = append(out.DependentRequired[m.Name], item.Text)
		}
		return
	}
	z.branches++
	if out.DependentSchemas == nil {
		out.DependentSchemas = map[string]*jsonschema.Schema{}
	}
	out.DependentSchemas[m.Name] = z.below(m.Value, depth, m.Name)
}

func (z *normalizer) schemas(n *Node, depth int) map[string]*jsonschema.Schema {
	if n == nil {
		return nil
	}
	out := make(map[string]*jsonschema.Schema, len(n.Members))
	for _, m := range n.Members {
		out[m.Name] = z.below(m.Value, depth, m.Name)
	}
	return out
}

func (z *normalizer) combinations(n *Node, out *jsonschema.Schema, depth int) {
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

func (z *normalizer) list(n *Node, keyword string, depth int) []*jsonschema.Schema {
	var out []*jsonschema.Schema
	for _, branch := range n.ListOf(keyword) {
		z.branches++
		out = append(out, z.below(branch, depth, ""))
	}
	return out
}

func (z *normalizer) part(n *Node, keyword string, depth int) *jsonschema.Schema {
	part := n.Get(keyword)
	if part == nil {
		return nil
	}
	z.branches++
	return z.below(part, depth, "")
}
