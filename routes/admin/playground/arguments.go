package playground

import (
	"slices"
	"strings"

	"mcpgateway/services/rawjson"
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
	root  *rawjson.Object
	count int
}

// argumentFields returns the fields for the raw inputSchema. ok is false when
// a form cannot hold what the schema describes.
func argumentFields(schema []byte) (fields []admin.ArgField, ok bool) {
	root, err := rawjson.ParseObject(schema, rawjson.Lenient)
	if err != nil {
		return nil, false
	}
	if len(root.Object("properties").Names()) == 0 {
		// Any arguments may be meant, unless the schema rules them out.
		closed := rawjson.Kind(root.Get("additionalProperties")) == 'f'
		open := root.Get("additionalProperties") != nil || root.Get("anyOf") != nil || root.Get("oneOf") != nil || root.Get("allOf") != nil || root.Get("$ref") != nil
		return nil, closed || !open
	}
	f := &argumentsForm{root: root}
	fields = f.fields(root, argPrefix, 0)
	return fields, f.count <= maxArgFields
}

func (f *argumentsForm) fields(schema *rawjson.Object, path string, depth int) []admin.ArgField {
	required := texts(schema.Get("required"))
	properties := schema.Object("properties")
	var fields []admin.ArgField
	for _, name := range properties.Names() {
		if f.count++; f.count > maxArgFields {
			return fields
		}
		field := f.field(properties.Object(name), path+"/"+pointerPart(name), depth)
		field.Label, field.Required = name, slices.Contains(required, name)
		fields = append(fields, offered(field))
	}
	return fields
}

// field returns the field of one argument. schema is nil for one that may be
// anything.
func (f *argumentsForm) field(schema *rawjson.Object, name string, depth int) admin.ArgField {
	field := admin.ArgField{Kind: admin.ArgJSON, Name: name}
	if schema == nil {
		return field
	}
	field.Hint, _ = schema.String("description")
	field.Hint = ui.Beginning(field.Hint, maxArgHint)
	if d := schema.Get("default"); d != nil && rawjson.Kind(d) != 'n' {
		field.Default = strings.Trim(string(d), `"`)
	}
	schema = f.resolved(schema)
	field.Kind = f.kind(schema, depth)
	switch field.Kind {
	case admin.ArgChoice:
		field.Options = choices(schema)
	case admin.ArgList:
		item := f.resolved(schema.Object("items"))
		if field.Item = f.kind(item, maxArgDepth); field.Item == admin.ArgChoice {
			field.Options = choices(item)
		}
		if field.Item == admin.ArgBoolean {
			field.Options = booleans()
		}
	case admin.ArgGroup:
		field.Children = f.fields(schema, name, depth+1)
	case admin.ArgText:
		if isLong(schema, name) {
			field.Kind = admin.ArgLines
		}
	}
	return field
}

// kind returns what a form takes for a schema; what it cannot ask for piece by
// piece is raw JSON.
func (f *argumentsForm) kind(schema *rawjson.Object, depth int) admin.ArgKind {
	if schema == nil {
		return admin.ArgJSON
	}
	if schema.Get("enum") != nil || schema.Get("const") != nil {
		if len(choices(schema)) > 0 {
			return admin.ArgChoice
		}
		return admin.ArgJSON
	}
	switch typeOf(schema) {
	case "string":
		return admin.ArgText
	case "number":
		return admin.ArgNumber
	case "integer":
		return admin.ArgInteger
	case "boolean":
		return admin.ArgBoolean
	case "array":
		switch f.kind(f.resolved(schema.Object("items")), maxArgDepth) {
		case admin.ArgText, admin.ArgNumber, admin.ArgInteger, admin.ArgBoolean, admin.ArgChoice:
			if depth <= maxArgDepth && schema.Object("items") != nil {
				return admin.ArgList
			}
		}
	case "object":
		if depth < maxArgDepth && len(schema.Object("properties").Names()) > 0 && schema.Get("anyOf") == nil && schema.Get("oneOf") == nil && schema.Get("allOf") == nil {
			return admin.ArgGroup
		}
	}
	return admin.ArgJSON
}

// resolved follows references within the schema, and steps over alternatives
// of which all but one are null, as generators write optional arguments.
func (f *argumentsForm) resolved(schema *rawjson.Object) *rawjson.Object {
	for range maxArgHops {
		if schema == nil {
			return nil
		}
		next := f.step(schema)
		if next == nil {
			return schema
		}
		schema = next
	}
	return nil
}

func (f *argumentsForm) step(schema *rawjson.Object) *rawjson.Object {
	if ref, ok := schema.String("$ref"); ok {
		return f.referenced(ref)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		alternatives, err := rawjson.Elements(schema.Get(keyword), rawjson.Lenient)
		if err != nil {
			continue
		}
		var left []*rawjson.Object
		for _, raw := range alternatives {
			o, err := rawjson.ParseObject(raw, rawjson.Lenient)
			if err != nil {
				return nil
			}
			if typ, _ := o.String("type"); typ != "null" {
				left = append(left, o)
			}
		}
		if len(left) == 1 {
			return left[0]
		}
	}
	return nil
}

// referenced returns the schema at a reference within the same document, or
// nil.
func (f *argumentsForm) referenced(ref string) *rawjson.Object {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	at := f.root
	for part := range strings.SplitSeq(path, "/") {
		at = at.Object(strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
	}
	return at
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
func choices(schema *rawjson.Object) []ui.Option {
	values, err := rawjson.Elements(schema.Get("enum"), rawjson.Lenient)
	if constant := schema.Get("const"); constant != nil {
		values, err = [][]byte{constant}, nil
	}
	if err != nil || len(values) > maxChoices {
		return nil
	}
	var options []ui.Option
	for _, value := range values {
		switch rawjson.Kind(value) {
		case '{', '[':
			return nil
		case '"':
			text, _ := rawjson.String(value)
			options = append(options, ui.Option{Value: string(value), Label: ui.Beginning(ui.Clean(text), maxArgHint)})
		default:
			options = append(options, ui.Option{Value: string(value), Label: string(value)})
		}
	}
	return options
}

// typeOf returns the type of a schema: of several the one beside null.
func typeOf(schema *rawjson.Object) string {
	if typ, ok := schema.String("type"); ok {
		return typ
	}
	types := slices.DeleteFunc(texts(schema.Get("type")), func(t string) bool { return t == "null" })
	if len(types) == 1 {
		return types[0]
	}
	if types == nil && schema.Object("properties") != nil {
		return "object"
	}
	return ""
}

// texts returns the strings of a raw list.
func texts(raw []byte) []string {
	elements, err := rawjson.Elements(raw, rawjson.Lenient)
	if err != nil {
		return nil
	}
	var list []string
	for _, element := range elements {
		if s, ok := rawjson.String(element); ok {
			list = append(list, s)
		}
	}
	return list
}

// isLong reports whether a text is likely to have several lines.
func isLong(schema *rawjson.Object, name string) bool {
	if schema.Get("format") != nil {
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
