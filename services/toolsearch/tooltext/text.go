// Package tooltext reads the texts of tools that searches cover.
package tooltext

import (
	"bytes"
	"strings"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
)

// The searched fields of a tool, in the order of their weights.
const (
	Name = iota
	Server
	Description
	Param
	ParamText
	Fields // number of fields
)

// Limits of a tool's text. Text beyond them is not searched.
const (
	maxSchemaDepth = 8   // levels of nested parameters
	maxProperties  = 256 // parameters and schema branches of one tool
	maxEnumValues  = 256 // enumerated values of one tool
)

// Text is the searchable text of a tool by field.
type Text [Fields][]string

// Reason is a word of a task, or a clause of a query, that matched a tool.
type Reason struct {
	Word  string // of the search
	Found string // of the tool; differs from Word for synonyms and corrections
	Field string // name, server, description, parameters or annotations
}

// reader collects the text of a tool definition within the limits, which bound
// the cost of any definition.
type reader struct {
	text       Text
	namesOnly  bool // of parameters, not their texts
	properties int
	enums      int
}

// Read returns the searchable text of a tool. Invalid parts of its
// definition are skipped.
func Read(tool *toolset.Tool) Text {
	r := reader{}
	r.exported(tool)
	definition, err := rawjson.ParseObject(tool.Definition, rawjson.Lenient)
	if err != nil {
		return r.text
	}
	r.titles(definition)
	r.addString(Description, definition.Get("description"))
	r.input(definition)
	return r.text
}

// Names returns the names and titles of a tool.
func Names(tool *toolset.Tool) []string {
	r := reader{}
	r.exported(tool)
	if definition, err := rawjson.ParseObject(tool.Definition, rawjson.Lenient); err == nil {
		r.titles(definition)
	}
	return r.text[Name]
}

// Params returns the names of a tool's parameters.
func Params(tool *toolset.Tool) []string {
	r := reader{namesOnly: true}
	if definition, err := rawjson.ParseObject(tool.Definition, rawjson.Lenient); err == nil {
		r.input(definition)
	}
	return r.text[Param]
}

// Meaning returns the text of a tool whose meaning is compared with tasks: its
// names, descriptions and the names of its parameters, without its server.
func Meaning(tool *toolset.Tool) string {
	text := Read(tool)
	var parts []string
	for _, name := range text[Name] {
		parts = append(parts, strings.ReplaceAll(name, "_", " "))
	}
	parts = append(parts, text[Description]...)
	if len(text[Param]) > 0 {
		parts = append(parts, strings.Join(text[Param], ", "))
	}
	return strings.Join(parts, "\n")
}

// exported collects the names of a tool and of its server.
func (r *reader) exported(tool *toolset.Tool) {
	r.text.Add(Name, tool.Local())
	r.text.Add(Server, tool.Server.Config.Alias)
}

// titles collects the titles of a tool.
func (r *reader) titles(definition *rawjson.Object) {
	r.addString(Name, definition.Get("title"))
	if annotations, err := rawjson.ParseObject(definition.Get("annotations"), rawjson.Lenient); err == nil {
		r.addString(Name, annotations.Get("title"))
	}
}

// input collects the parameters of a tool.
func (r *reader) input(definition *rawjson.Object) { r.schema(definition.Get("inputSchema"), 0) }

// Add appends a text to a field, unless it is empty.
func (t *Text) Add(field int, text string) {
	if text != "" {
		t[field] = append(t[field], strings.ToValidUTF8(text, " "))
	}
}

func (r *reader) addString(field int, raw []byte) {
	if text, ok := rawjson.String(raw); ok {
		r.text.Add(field, text)
	}
}

// schema collects the names and texts of the parameters below a JSON Schema.
func (r *reader) schema(raw []byte, depth int) {
	if rawjson.Kind(raw) != '{' || depth > maxSchemaDepth {
		return
	}
	if r.namesOnly && bytes.Count(raw, []byte{'{'}) == 1 {
		return // no object in it that could have parameters
	}
	n, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return
	}
	if depth > 0 && !r.namesOnly {
		r.addString(ParamText, n.Get("title"))
		r.addString(ParamText, n.Get("description"))
		r.enum(elements(n.Get("enum")))
	}
	if properties, err := rawjson.ParseObject(n.Get("properties"), rawjson.Lenient); err == nil {
		for name, value := range properties.All() {
			if r.properties++; r.properties > maxProperties {
				return
			}
			r.text.Add(Param, name)
			r.schema(value, depth+1)
		}
	}
	r.schema(n.Get("items"), depth+1)
	for _, keyword := range [...]string{"anyOf", "oneOf", "allOf"} {
		for _, branch := range elements(n.Get(keyword)) {
			if r.properties++; r.properties > maxProperties {
				return
			}
			r.schema(branch, depth+1)
		}
	}
}

func (r *reader) enum(values [][]byte) {
	for _, value := range values {
		if r.enums++; r.enums > maxEnumValues {
			return
		}
		r.addString(ParamText, value)
	}
}

// elements returns the elements of an array, and none for another value.
func elements(raw []byte) [][]byte {
	if rawjson.Kind(raw) != '[' {
		return nil
	}
	found, err := rawjson.Elements(raw, rawjson.Lenient)
	if err != nil {
		return nil
	}
	return found
}
