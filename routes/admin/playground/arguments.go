package playground

import (
	"slices"
	"strings"

	"mcpgateway/services/schema"
	"mcpgateway/views/admin"
	"mcpgateway/views/ui"
)

// Bounds of the form of the Playground. A tool with more is called with raw
// JSON.
const (
	maxArgFields = 120
	maxArgDepth  = 4   // groups in groups
	maxArgValues = 100 // of a list
	maxArgHops   = 8   // from reference to reference
	maxArgHint   = 300 // characters
	maxChoices   = 200
)

// argPrefix begins the names of the form's fields for arguments. A JSON
// pointer (RFC 6901) to the argument follows.
const argPrefix = "arg:"

// argumentsForm turns the inputSchema of a tool into the fields of a form.
type argumentsForm struct {
	document *schema.Document
	count    int
}

// argumentFields returns the fields for the raw inputSchema. ok is false when
// a form cannot hold what the schema describes.
func argumentFields(raw []byte) (fields []admin.ArgField, ok bool) {
	root, err := schema.ParseValue(raw, len(raw))
	if err != nil || !root.Is('{') {
		return nil, false
	}
	if len(root.ObjectOf("properties").All()) == 0 {
		// Any arguments may be meant, unless the schema rules them out.
		closed := root.Get("additionalProperties").Is('f')
		open := root.Has("additionalProperties") || root.Has("anyOf") || root.Has("oneOf") || root.Has("allOf") || root.Has("$ref")
		return nil, closed || !open
	}
	f := &argumentsForm{document: schema.NewDocument(root)}
	fields = f.fields(root, argPrefix, 0)
	return fields, f.count <= maxArgFields
}

func (f *argumentsForm) fields(n *schema.Node, path string, depth int) []admin.ArgField {
	required := n.StringsOf("required")
	var fields []admin.ArgField
	for _, m := range n.ObjectOf("properties").All() {
		if f.count++; f.count > maxArgFields {
			return fields
		}
		field := f.field(m.Value, path+"/"+pointerPart(m.Name), depth)
		field.Label, field.Required = m.Name, slices.Contains(required, m.Name)
		fields = append(fields, offered(field))
	}
	return fields
}

// field returns the field of one argument.
func (f *argumentsForm) field(n *schema.Node, name string, depth int) admin.ArgField {
	field := admin.ArgField{Kind: admin.ArgJSON, Name: name, Hint: ui.Beginning(n.StringOf("description"), maxArgHint)}
	if d := n.Get("default"); d != nil && !d.Is('n') {
		field.Default = strings.Trim(string(d.Raw), `"`)
	}
	n = f.resolved(n)
	field.Kind = f.kind(n, depth)
	switch field.Kind {
	case admin.ArgChoice:
		field.Options = choices(n)
	case admin.ArgList:
		item := f.resolved(n.Get("items"))
		if field.Item = f.kind(item, maxArgDepth); field.Item == admin.ArgChoice {
			field.Options = choices(item)
		}
		if field.Item == admin.ArgBoolean {
			field.Options = booleans()
		}
	case admin.ArgGroup:
		field.Children = f.fields(n, name, depth+1)
	case admin.ArgText:
		if isLong(n, name) {
			field.Kind = admin.ArgLines
		}
	}
	return field
}

// kind returns what a form takes for a schema; what it cannot ask for piece by
// piece is raw JSON.
func (f *argumentsForm) kind(n *schema.Node, depth int) admin.ArgKind {
	if n.Has("enum") || n.Has("const") {
		if len(choices(n)) > 0 {
			return admin.ArgChoice
		}
		return admin.ArgJSON
	}
	switch typeOf(n) {
	case "string":
		return admin.ArgText
	case "number":
		return admin.ArgNumber
	case "integer":
		return admin.ArgInteger
	case "boolean":
		return admin.ArgBoolean
	case "array":
		if depth > maxArgDepth { // an element, which may be an array of itself
			return admin.ArgJSON
		}
		switch f.kind(f.resolved(n.Get("items")), maxArgDepth+1) {
		case admin.ArgText, admin.ArgNumber, admin.ArgInteger, admin.ArgBoolean, admin.ArgChoice:
			return admin.ArgList
		}
	case "object":
		if depth < maxArgDepth && len(n.ObjectOf("properties").All()) > 0 && !n.Has("anyOf") && !n.Has("oneOf") && !n.Has("allOf") {
			return admin.ArgGroup
		}
	}
	return admin.ArgJSON
}

// resolved follows references within the schema, and steps over alternatives
// of which all but one are null, as generators write optional arguments.
func (f *argumentsForm) resolved(n *schema.Node) *schema.Node {
	for range maxArgHops {
		next := f.step(n)
		if next == nil {
			return n
		}
		n = next
	}
	return nil
}

func (f *argumentsForm) step(n *schema.Node) *schema.Node {
	if ref := n.Get("$ref"); ref.Is('"') {
		if target, _ := f.document.Resolve(ref.Text); target.Is('{') && strings.HasPrefix(ref.Text, "#/") {
			return target
		}
		return nil
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		var left []*schema.Node
		for _, alternative := range n.ListOf(keyword) {
			if !alternative.Is('{') {
				return nil
			}
			if alternative.StringOf("type") != "null" {
				left = append(left, alternative)
			}
		}
		if len(left) == 1 {
			return left[0]
		}
	}
	return nil
}

// offered adds to a field the choices of booleans, and the choice to send
// nothing where that is allowed.
func offered(field admin.ArgField) admin.ArgField {
	if field.Kind == admin.ArgBoolean {
		field.Options = booleans()
	}
	if field.Kind == admin.ArgBoolean || field.Kind == admin.ArgChoice {
		nothing := ui.Option{Label: "– choose –"}
		if !field.Required {
			nothing.Label = "– not sent –"
		}
		field.Options = append([]ui.Option{nothing}, field.Options...)
	}
	return field
}

func booleans() []ui.Option {
	return []ui.Option{{Value: "true", Label: "true"}, {Value: "false", Label: "false"}}
}

// choices returns the values of an enumeration; nil when they are not all
// simple, or too many.
func choices(n *schema.Node) []ui.Option {
	values, _ := schema.LiteralsOf(n)
	if len(values) > maxChoices {
		return nil
	}
	var options []ui.Option
	for _, value := range values {
		switch value.Kind {
		case '{', '[':
			return nil
		case '"':
			options = append(options, ui.Option{Value: string(value.Raw), Label: ui.Beginning(ui.Clean(value.Text), maxArgHint)})
		default:
			options = append(options, ui.Option{Value: string(value.Raw), Label: string(value.Raw)})
		}
	}
	return options
}

// typeOf returns the type of a schema: of several the one beside null.
func typeOf(n *schema.Node) string {
	types := n.Types()
	if types == nil && n.ObjectOf("properties") != nil {
		return "object"
	}
	if len(types) > 1 {
		types = slices.DeleteFunc(types, func(t string) bool { return t == "null" })
	}
	if len(types) == 1 {
		return types[0]
	}
	return ""
}

// isLong reports whether a text is likely to have several lines.
func isLong(n *schema.Node, name string) bool {
	if n.Has("format") {
		return false
	}
	switch strings.ToLower(name[strings.LastIndexByte(name, '/')+1:]) {
	case "body", "content", "text", "description", "message", "markdown", "html", "code", "prompt", "comment", "sql":
		return true
	}
	return false
}

// pointerPart escapes a name for a JSON pointer (RFC 6901, section 3).
func pointerPart(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
