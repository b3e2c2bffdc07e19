package playground

import (
	"slices"
	"strings"

	"mcpgateway/services/schema"
	"mcpgateway/views/admin"
	"mcpgateway/views/ui"
)

// Limits of the Playground form. A tool that exceeds them is called with raw JSON.
const (
	maxArgFields = 120
	maxArgDepth  = 4   // nesting of groups
	maxArgValues = 100 // of a list
	maxArgHops   = 8   // length of a chain of references
	maxArgHint   = 300 // characters
	maxChoices   = 200
)

// argPrefix is the prefix of form field names for arguments. It is followed by a
// JSON pointer (RFC 6901) to the argument.
const argPrefix = "arg:"

// argumentsForm converts the inputSchema of a tool to form fields.
type argumentsForm struct {
	document *schema.Document
	count    int
}

// argumentFields returns the form fields for a raw inputSchema. ok is false if a
// form cannot represent the schema.
func argumentFields(raw []byte) (fields []admin.ArgField, ok bool) {
	root, err := schema.ParseValue(raw, len(raw))
	if err != nil || !root.Is('{') {
		return nil, false
	}
	if len(root.ObjectOf("properties").All()) == 0 {
		// Without properties, any arguments are possible unless the schema excludes
		// them.
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

// kind returns the kind of field for a schema. A schema without a matching control
// is edited as raw JSON.
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
		if depth > maxArgDepth { // an array in an array, which may be recursive
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

// resolved follows references within the schema. It also replaces anyOf and oneOf
// with their only non-null alternative, because generators write optional
// arguments that way.
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

// offered adds the options of booleans, and for booleans and choices an option for
// no value.
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

// choices returns the values of an enumeration, or nil if it has objects, arrays or
// more than maxChoices values.
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

// typeOf returns the type of a schema, ignoring null, or "" if there is not exactly
// one.
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

// isLong reports whether the argument name suggests text of several lines.
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
