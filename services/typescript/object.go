package typescript

import (
	"slices"
	"strings"

	"mcpgateway/services/schema"
)

// objectShape is the shape of an object, from one or several schemas.
type objectShape struct {
	names      []string
	properties map[string][]*schema.Node
	required   map[string]bool
	order      []string // order of required
	patterns   []*schema.Node
	additional []*schema.Node // of additionalProperties and unevaluatedProperties
	closed     bool           // some schema forbids other properties
	open       bool           // some schema allows other properties
	listed     []string       // names allowed by propertyNames
	hinted     []string       // properties that only conditions mention
	said       bool           // any of the above is set
}

func newObjectShape() *objectShape {
	return &objectShape{properties: map[string][]*schema.Node{}, required: map[string]bool{}}
}

// isPlainObject reports whether a schema has only properties of an object, so
// that it can be merged with other such schemas.
func isPlainObject(n *schema.Node) bool {
	if !n.Is('{') {
		return false
	}
	object := false
	for _, m := range n.Members {
		switch m.Name {
		case "$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "enum", "const", "not", "nullable", "items", "prefixItems":
			return false
		case "type":
			if m.Value.Text != "object" {
				return false
			}
			object = true
		case "properties", "required", "additionalProperties", "patternProperties":
			object = true
		}
	}
	return object
}

// add adds the keywords of a schema about objects.
func (s *objectShape) add(n *schema.Node) {
	for _, m := range n.Members {
		switch m.Name {
		case "properties":
			s.said = s.said || len(m.Value.Members) > 0
			for _, p := range m.Value.Members {
				s.property(p.Name, p.Value)
			}
		case "required":
			for _, name := range n.StringsOf("required") {
				s.said = true
				if !s.required[name] {
					s.required[name] = true
					s.order = append(s.order, name)
				}
			}
		case "patternProperties":
			for _, p := range m.Value.Members {
				s.said = true
				s.patterns = append(s.patterns, p.Value)
			}
		case "additionalProperties", "unevaluatedProperties":
			s.said = true
			switch {
			case m.Value.Is('f'):
				s.closed = true
			case m.Value.Is('{') && len(m.Value.Members) > 0:
				s.additional = append(s.additional, m.Value)
			default:
				s.open = true
			}
		case "propertyNames":
			if names := m.Value.StringsOf("enum"); len(names) > 0 && len(names) <= maxListedNames && s.listed == nil {
				s.listed, s.said = names, true
			}
		}
	}
	s.hint(n, 0)
}

func (s *objectShape) property(name string, schema *schema.Node) {
	if _, known := s.properties[name]; !known {
		s.names = append(s.names, name)
	}
	s.properties[name] = append(s.properties[name], schema)
}

// hint records the properties that a call may have under some condition.
func (s *objectShape) hint(n *schema.Node, depth int) {
	if depth > 3 {
		return
	}
	for _, keyword := range [...]string{"if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies"} {
		part := n.ObjectOf(keyword)
		if part == nil {
			continue
		}
		if keyword == "if" || keyword == "then" || keyword == "else" {
			s.hintOf(part, depth)
			continue
		}
		for _, m := range part.Members {
			s.hinted = append(s.hinted, m.Name)
			for _, name := range m.Value.Items {
				s.hinted = append(s.hinted, name.Text)
			}
			s.hintOf(m.Value, depth)
		}
	}
}

func (s *objectShape) hintOf(n *schema.Node, depth int) {
	if !n.Is('{') {
		return
	}
	for _, m := range n.ObjectOf("properties").All() {
		s.hinted = append(s.hinted, m.Name)
	}
	s.hinted = append(s.hinted, n.StringsOf("required")...)
	for _, keyword := range [...]string{"allOf", "anyOf", "oneOf"} {
		for _, branch := range n.ListOf(keyword) {
			s.hintOf(branch, depth+1)
		}
	}
	s.hint(n, depth+1)
}

// impliedTypes returns the types of a schema without type: keywords about
// properties imply objects, those about elements arrays.
func (s *objectShape) impliedTypes(n *schema.Node) []string {
	var types []string
	if s.said {
		types = append(types, "object")
	}
	if n.Has("items") || n.Has("prefixItems") {
		types = append(types, "array")
	}
	return types
}

// variants reports whether the branches of a schema only refine its object, so
// that one object type per branch is easier to read.
func (w *typeWriter) variants(n *schema.Node, shape *objectShape, branches []*schema.Node) bool {
	if len(branches) == 0 || !shape.said || len(branches)*len(shape.names) > maxVariants || n.Has("enum") || n.Has("const") {
		return false
	}
	if types := n.Types(); len(types) > 1 || len(types) == 1 && types[0] != "object" || n.Has("items") || n.Has("prefixItems") {
		return false
	}
	return !slices.ContainsFunc(branches, func(b *schema.Node) bool { return !isPlainObject(b) })
}

func (w *typeWriter) variantsOf(shape *objectShape, branches []*schema.Node, at typePosition) tsType {
	types := make([]tsType, len(branches))
	for i, branch := range branches {
		one := shape.clone()
		one.add(branch)
		types[i] = w.object(one, at)
	}
	return unionOf(types...)
}

func (s *objectShape) clone() *objectShape {
	c := *s
	c.names, c.order = slices.Clone(s.names), slices.Clone(s.order)
	c.patterns, c.additional, c.hinted = slices.Clone(s.patterns), slices.Clone(s.additional), slices.Clone(s.hinted)
	c.properties, c.required = make(map[string][]*schema.Node, len(s.properties)), make(map[string]bool, len(s.required))
	for name, schemas := range s.properties {
		c.properties[name] = slices.Clone(schemas)
	}
	for name := range s.required {
		c.required[name] = true
	}
	return &c
}

// objectField is one property to be written.
type objectField struct {
	doc, text string
	value     tsType
}

// object returns the type of an object. Unless the schema mentions other
// properties, the type allows none, so that unknown arguments are errors.
func (w *typeWriter) object(s *objectShape, at typePosition) tsType {
	below := at.inProperty()
	fields := make([]objectField, 0, len(s.names)+1)
	index := w.additionalOf(s, below)
	for _, name := range s.names {
		t := unknownType()
		for _, schema := range s.properties[name] {
			t = w.both(t, w.typeOf(schema, below))
		}
		fields = append(fields, newField(name, s.required[name], t, propertyDoc(s.properties[name][0])))
	}
	other := unknownType()
	if len(s.additional) > 0 {
		other = index
	}
	listed := s.listed
	if len(s.names) > 0 || s.open || len(s.patterns) > 0 {
		listed = nil
	}
	for _, name := range listed {
		if !s.required[name] {
			fields = append(fields, newField(name, false, other, ""))
		}
	}
	for _, name := range s.order {
		if _, known := s.properties[name]; !known {
			fields = append(fields, newField(name, true, other, ""))
		}
	}
	hasIndex := listed == nil && !s.closedFor() && (s.open || len(s.additional) > 0 || len(s.patterns) > 0)
	switch {
	case len(fields) == 0 && !hasIndex && s.closed:
		return oneType(noObjectText, "object", false)
	case len(fields) == 0 && !hasIndex:
		return bareType(openObjectText, "object")
	}
	if !hasIndex {
		fields = append(fields, s.hintedFields()...)
		return oneType(writeObject(fields, at.indent), "object", false)
	}
	// An index signature must be compatible with every property.
	if len(fields) > 0 && !index.isUnknown() {
		all := []tsType{index}
		for _, f := range fields {
			all = append(all, f.value)
		}
		index = unionOf(append(all, oneType("undefined", "", false))...)
	}
	fields = append(fields, objectField{text: "[key: string]: " + index.String()})
	return oneType(writeObject(fields, at.indent), "object", false)
}

// closedFor reports whether names beyond the properties are forbidden.
func (s *objectShape) closedFor() bool { return s.closed && len(s.patterns) == 0 }

// additionalOf returns the type of unnamed properties.
func (w *typeWriter) additionalOf(s *objectShape, at typePosition) tsType {
	var parts []tsType
	if !s.closed {
		switch {
		case len(s.additional) > 0:
			t := unknownType()
			for _, schema := range s.additional {
				t = w.both(t, w.typeOf(schema, at))
			}
			parts = append(parts, t)
		case s.open:
			return unknownType()
		}
	}
	for _, schema := range s.patterns {
		parts = append(parts, w.typeOf(schema, at))
	}
	if len(parts) == 0 {
		return unknownType()
	}
	return unionOf(parts...)
}

func newField(name string, required bool, t tsType, doc string) objectField {
	mark := "?: "
	switch {
	case required:
		mark = ": "
	case isInherited(name) && !t.isUnknown():
		// Without the property an object literal inherits a member of that
		// name, and the compiler compares its type.
		t = unionOf(t, oneType("Object["+schema.Quote(name)+"]", "", false))
	}
	return objectField{doc: doc, text: propertyName(name) + mark + t.String(), value: t}
}

// isInherited reports whether every object has a member with this name.
func isInherited(name string) bool {
	switch name {
	case "constructor", "toString", "toLocaleString", "valueOf", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable":
		return true
	}
	return false
}

// hintedFields are the properties that only conditions mention. They are
// optional: without them the type would reject valid calls.
func (s *objectShape) hintedFields() []objectField {
	if s.closed {
		return nil
	}
	var fields []objectField
	seen := map[string]bool{}
	for _, name := range s.hinted {
		if _, known := s.properties[name]; known || s.required[name] || seen[name] {
			continue
		}
		seen[name] = true
		fields = append(fields, newField(name, false, unknownType(), ""))
	}
	return fields
}

// writeObject returns the text of an object type, on one line if it is short.
func writeObject(fields []objectField, indent string) string {
	length, docs := 0, false
	for _, f := range fields {
		length += len(f.text) + 2
		docs = docs || f.doc != "" || strings.Contains(f.text, "\n")
	}
	if !docs && length <= maxInlineObject {
		texts := make([]string, len(fields))
		for i, f := range fields {
			texts[i] = f.text
		}
		return "{ " + strings.Join(texts, "; ") + " }"
	}
	var b strings.Builder
	b.WriteString("{\n")
	for _, f := range fields {
		writeDoc(&b, indent+"  ", f.doc)
		b.WriteString(indent + "  " + f.text + ";\n")
	}
	b.WriteString(indent + "}")
	return b.String()
}
