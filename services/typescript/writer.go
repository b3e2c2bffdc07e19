package typescript

import (
	"slices"
	"strings"

	"mcpgateway/services/schema"
)

// typeWriter converts the schemas of one tool to TypeScript. Whatever a type
// can't express makes it wider, so that no valid call is rejected.
type typeWriter struct {
	prefix string         // prefix of type names
	taken  map[string]int // type names in the whole text, shared by all tools
	nodes  int            // remaining subschemas to visit
	count  int            // number of named types
	looks  int            // remaining subschemas to check for an empty object

	doc   *schema.Document
	named map[*schema.Node]*namedType // named types of doc
	types []*namedType                // of all documents, in order of use

	simplified map[string]bool // simplifications, as sentences
	notes      []string        // the same in order
}

// namedType is a schema that is referred to by name.
type namedType struct {
	name  string
	text  string
	width int
	shape string // of all values; empty if they differ or it is not yet known
	uses  []typeUse
}

// typeUse is a use of a named type in another one.
type typeUse struct {
	of *namedType
	refUse
}

// refUse is the context of a use.
type refUse struct {
	guarded bool // inside a property or an element, which the compiler resolves lazily
	joined  bool // in an intersection, which the compiler expands
}

// typePosition is the position of a schema in a type.
type typePosition struct {
	depth  int
	indent string
	owner  *namedType // named type of this position; nil in the type of all arguments
	refUse
	eager bool // in an optional part of a tuple, where elements are resolved eagerly
}

// inProperty returns the position of a property of an object.
func (p typePosition) inProperty() typePosition {
	return typePosition{depth: p.depth + 1, indent: p.indent + "  ", owner: p.owner, refUse: refUse{guarded: true}}
}

// inElement returns the position of an array element. optional means an
// optional element of a tuple.
func (p typePosition) inElement(optional bool) typePosition {
	p.depth++
	p.eager = p.eager || optional
	p.guarded = !p.eager
	return p
}

func newTypeWriter(prefix string, taken map[string]int) *typeWriter {
	return &typeWriter{prefix: prefix, taken: taken, nodes: schema.MaxNodes, looks: schema.MaxNodes, simplified: map[string]bool{}}
}

// begin sets root as the schema for resolving references.
func (w *typeWriter) begin(root *schema.Node) {
	w.doc = schema.NewDocument(root)
	w.named = map[*schema.Node]*namedType{}
}

func (w *typeWriter) note(what string) {
	if !w.simplified[what] {
		w.simplified[what] = true
		w.notes = append(w.notes, what)
	}
}

const (
	noteTooLarge  = "it has too many parts"
	noteTooDeep   = "it is nested too deeply"
	noteReference = "it refers to a schema that it doesn't contain"
	noteBroken    = "a part of it is not a valid schema"
	noteWide      = "it combines too many alternatives"
	noteCycle     = "a part of it refers only to itself"
)

// typeOf returns the type of the values that a schema allows.
func (w *typeWriter) typeOf(n *schema.Node, at typePosition) tsType {
	if w.nodes--; w.nodes < 0 {
		w.note(noteTooLarge)
		return unknownType()
	}
	switch {
	case n.Is('f'):
		return neverType()
	case n.Is('t'):
		return unknownType()
	case !n.Is('{'):
		w.note(noteBroken)
		return unknownType()
	case at.depth > MaxSchemaDepth:
		w.note(noteTooDeep)
		return unknownType()
	}
	at.joined = at.joined || w.isJoined(n)
	ref := n.StringOf("$ref")
	if ref == "" {
		return w.own(n, at)
	}
	t := w.reference(ref, at)
	if w.doc.RefsOnly {
		return t
	}
	return w.both(t, w.own(n, at))
}

// isJoined reports whether a schema may become an intersection.
func (w *typeWriter) isJoined(n *schema.Node) bool {
	parts, own := len(n.ListOf("allOf")), false
	for _, m := range n.Members {
		switch m.Name {
		case "$ref", "anyOf", "oneOf":
			parts++
		case "type":
			// An object or array type doesn't narrow a named type.
			own = own || m.Value.Text != "object" && m.Value.Text != "array"
		case "properties", "required", "additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames", "items", "prefixItems", "enum", "const":
			own = true
		}
	}
	return parts > 1 || parts == 1 && own
}

func (w *typeWriter) both(a, b tsType) tsType {
	t, ok := intersect(a, b)
	if !ok {
		w.note(noteWide)
	}
	return t
}

// reference returns the name of the type for a reference.
func (w *typeWriter) reference(ref string, at typePosition) tsType {
	target, name := w.doc.Resolve(ref)
	switch {
	case target == nil:
		w.note(noteReference)
		return unknownType()
	case !target.Is('{'):
		return w.typeOf(target, at)
	}
	to := w.named[target]
	if to == nil {
		if w.count++; w.count > maxNamedTypes {
			w.note(noteTooLarge)
			return unknownType()
		}
		if name == "" {
			name = "Self"
		}
		to = &namedType{name: w.newName(name)}
		w.named[target] = to
		w.types = append(w.types, to)
		t := w.typeOf(target, typePosition{owner: to})
		to.text, to.width, to.shape = t.String(), t.width, t.shape()
	}
	if at.owner != nil {
		use := typeUse{to, at.refUse}
		if use.closesCircle(at.owner, refUse{}, map[typeUse]bool{}) {
			w.note(noteCycle)
			return unknownType()
		}
		at.owner.uses = append(at.owner.uses, use)
	}
	return tsType{[]tsAlternative{{text: to.name, shape: to.shape}}, max(to.width, 1)}
}

// closesCircle reports whether a use leads back to a type in a way that the
// language forbids or that would expand endlessly: with no property or element
// in between, or through an intersection. path is the context met so far.
func (u typeUse) closesCircle(start *namedType, path refUse, seen map[typeUse]bool) bool {
	path.guarded = path.guarded || u.guarded
	path.joined = path.joined || u.joined
	if u.of == start && (path.joined || !path.guarded) {
		return true
	}
	state := typeUse{u.of, path}
	if seen[state] {
		return false
	}
	seen[state] = true
	return slices.ContainsFunc(u.of.uses, func(next typeUse) bool { return next.closesCircle(start, path, seen) })
}

// newName returns an unused name for a type.
func (w *typeWriter) newName(part string) string {
	base := w.prefix + "__" + escapeIdentifier(schema.ClipBytes(part, maxTypeName))
	return takeName(w.taken, base)
}

// own returns the type for the keywords of a schema without its reference.
func (w *typeWriter) own(n *schema.Node, at typePosition) tsType {
	if not := n.Get("not"); not.Is('t') || not.Is('{') && len(not.Members) == 0 {
		return neverType()
	}
	var rest []*schema.Node // remaining parts of allOf
	shape := newObjectShape()
	shape.add(n)
	for _, part := range n.ListOf("allOf") {
		if isPlainObject(part) {
			shape.add(part)
		} else {
			rest = append(rest, part)
		}
	}
	anyOf, oneOf := n.ListOf("anyOf"), n.ListOf("oneOf")
	var t tsType
	switch {
	case w.variants(n, shape, anyOf):
		t, anyOf = w.variantsOf(shape, anyOf, at), nil
	case w.variants(n, shape, oneOf):
		t, oneOf = w.variantsOf(shape, oneOf, at), nil
	default:
		t = w.basic(n, shape, at)
	}
	if n.Get("nullable").Is('t') {
		t = unionOf(t, bareType("null", "null"))
	}
	for _, branches := range [...][]*schema.Node{anyOf, oneOf} {
		if len(branches) > 0 {
			t = w.both(t, w.unionOfSchemas(branches, at))
		}
	}
	for _, part := range rest {
		t = w.both(t, w.typeOf(part, at))
	}
	return t
}

func (w *typeWriter) unionOfSchemas(branches []*schema.Node, at typePosition) tsType {
	types := make([]tsType, len(branches))
	for i, branch := range branches {
		types[i] = w.typeOf(branch, at)
	}
	return unionOf(types...)
}

// basic returns the type for the keywords without alternatives.
func (w *typeWriter) basic(n *schema.Node, shape *objectShape, at typePosition) tsType {
	types := n.Types()
	if len(types) == 0 {
		types = shape.impliedTypes(n)
	}
	if values, ok := schema.LiteralsOf(n); ok {
		var all []tsType
		for _, v := range values {
			if len(types) == 0 || !n.Has("type") || schema.Admits(types, v) {
				all = append(all, literalType(v, at.depth))
			}
		}
		return unionOf(all...)
	}
	if len(types) == 0 {
		return unknownType()
	}
	all := make([]tsType, 0, len(types))
	for _, name := range types {
		switch name {
		case "string", "number", "boolean", "null":
			all = append(all, bareType(name, name))
		case "integer":
			all = append(all, bareType("number", "number"))
		case "array":
			all = append(all, w.array(n, at))
		case "object":
			all = append(all, w.object(shape, at))
		default:
			w.note(noteBroken)
			return unknownType()
		}
	}
	return unionOf(all...)
}

// array returns the type of the arrays that a schema allows.
func (w *typeWriter) array(n *schema.Node, at typePosition) tsType {
	first, items := n.ListOf("prefixItems"), n.Get("items")
	if first == nil && items.Is('[') { // valid up to draft-07, and used by mistake in later ones
		first, items = items.Items, n.Get("additionalItems")
	}
	if len(first) == 0 {
		if items == nil || items.Is('[') {
			return bareType("unknown[]", "array")
		}
		return oneType(w.typeOf(items, at.inElement(false)).operand()+"[]", "array", false)
	}
	least, _ := n.CountOf("minItems")
	most, limited := n.CountOf("maxItems")
	if limited && most < len(first) {
		first = first[:most]
	}
	var parts []string
	for i, item := range first {
		t := w.typeOf(item, at.inElement(i >= least))
		if i < least {
			parts = append(parts, t.String())
		} else {
			parts = append(parts, t.operand()+"?")
		}
	}
	if !limited || most > len(first) {
		switch {
		case items.Is('f'):
		case items == nil:
			parts = append(parts, "...unknown[]")
		default:
			parts = append(parts, "..."+w.typeOf(items, at.inElement(true)).operand()+"[]")
		}
	}
	return oneType("["+strings.Join(parts, ", ")+"]", "array", false)
}
