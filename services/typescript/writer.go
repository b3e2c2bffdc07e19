package typescript

import (
	"slices"
	"strings"

	"mcpgateway/services/schema"
)

// typeWriter turns the schemas of one tool into TypeScript. What it cannot say
// in a type gets wider, so that no valid call is refused.
type typeWriter struct {
	prefix string         // of the names of types
	taken  map[string]int // names of types in the whole text, shared by all tools
	nodes  int            // subschemas that may still be visited
	count  int            // named types
	looks  int            // subschemas that may still be asked whether they admit an empty object

	doc   *schema.Document
	named map[*schema.Node]*namedType // of doc
	types []*namedType                // of all documents, in the order of their use

	simplified map[string]bool // what was made wider, as sentences
	notes      []string        // the same in order
}

// namedType is a schema that is referred to by name.
type namedType struct {
	name  string
	text  string
	width int
	shape string // of all its values; empty when they differ or it is not known yet
	uses  []typeUse
}

// typeUse is a mention of a named type in another one.
type typeUse struct {
	of *namedType
	how
}

// how says where a mention stands.
type how struct {
	guarded bool // behind a property or an element, which the compiler need not look at
	joined  bool // in an intersection, which the compiler multiplies out
}

// place is where in a type a schema stands.
type place struct {
	depth  int
	indent string
	owner  *namedType // that this place is in; nil in the type of all arguments
	how
	eager bool // in an optional part of a tuple, where no element is a guard
}

// inProperty returns the place of a property of an object.
func (p place) inProperty() place {
	return place{depth: p.depth + 1, indent: p.indent + "  ", owner: p.owner, how: how{guarded: true}}
}

// inElement returns the place of an element of an array; optional says that it
// is one of a tuple that need not be there.
func (p place) inElement(optional bool) place {
	p.depth++
	p.eager = p.eager || optional
	p.guarded = !p.eager
	return p
}

func newTypeWriter(prefix string, taken map[string]int) *typeWriter {
	return &typeWriter{prefix: prefix, taken: taken, nodes: schema.MaxNodes, looks: schema.MaxNodes, simplified: map[string]bool{}}
}

// begin makes root the schema that references are resolved in.
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
	noteReference = "it refers to a schema that is not in it"
	noteBroken    = "a part of it is no schema"
	noteWide      = "it combines too many alternatives"
	noteCycle     = "a part of it is defined by itself"
)

// typeOf returns the type of the values that a schema admits.
func (w *typeWriter) typeOf(n *schema.Node, at place) tsType {
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
			// That values are objects or arrays does not narrow a name.
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

// reference returns the name of the type that a reference means.
func (w *typeWriter) reference(ref string, at place) tsType {
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
		t := w.typeOf(target, place{owner: to})
		to.text, to.width, to.shape = t.String(), t.width, t.shape()
	}
	if at.owner != nil {
		use := typeUse{to, at.how}
		if use.closesCircle(at.owner, how{}, map[typeUse]bool{}) {
			w.note(noteCycle)
			return unknownType()
		}
		at.owner.uses = append(at.owner.uses, use)
	}
	return tsType{[]tsAlternative{{text: to.name, shape: to.shape}}, max(to.width, 1)}
}

// closesCircle reports whether a mention leads back to a type in a way that
// the language does not allow, or would multiply out without end: without any
// guard between, or with an intersection. path says what was met so far.
func (u typeUse) closesCircle(start *namedType, path how, seen map[typeUse]bool) bool {
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

// newName returns a name for a type that no other has.
func (w *typeWriter) newName(part string) string {
	base := w.prefix + "__" + escapeIdentifier(schema.ClipBytes(part, maxTypeName))
	return takeName(w.taken, base)
}

// own returns the type by the keywords of a schema without its reference.
func (w *typeWriter) own(n *schema.Node, at place) tsType {
	if not := n.Get("not"); not.Is('t') || not.Is('{') && len(not.Members) == 0 {
		return neverType()
	}
	var rest []*schema.Node // of allOf
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

func (w *typeWriter) unionOfSchemas(branches []*schema.Node, at place) tsType {
	types := make([]tsType, len(branches))
	for i, branch := range branches {
		types[i] = w.typeOf(branch, at)
	}
	return unionOf(types...)
}

// basic returns the type by the keywords that are not made of alternatives.
func (w *typeWriter) basic(n *schema.Node, shape *objectShape, at place) tsType {
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

// array returns the type of the arrays that a schema admits.
func (w *typeWriter) array(n *schema.Node, at place) tsType {
	first, items := n.ListOf("prefixItems"), n.Get("items")
	if first == nil && items.Is('[') { // up to draft-07, and in later ones by mistake
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
