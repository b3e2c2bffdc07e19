package toolsearch

import (
	"bytes"
	"strings"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
)

// The searched fields of a tool, in the order of their weights.
const (
	fieldName = iota
	fieldServer
	fieldDescription
	fieldParam
	fieldParamText
	fieldCount
)

// document is the searchable text of a tool.
type document struct {
	text [fieldCount][]string
}

// reader collects the text of a tool definition within the limits, which bound
// the cost of any definition.
type reader struct {
	document
	namesOnly  bool // of parameters, not their texts
	properties int
	enums      int
}

// readTool returns the searchable text of a tool. Invalid parts of its
// definition are skipped.
func readTool(tool *toolset.Tool) document {
	r := reader{}
	r.exported(tool)
	definition, err := rawjson.ParseObject(tool.Definition, rawjson.Lenient)
	if err != nil {
		return r.document
	}
	r.titles(definition)
	r.addString(fieldDescription, definition.Get("description"))
	r.input(definition)
	return r.document
}

// exported collects the names of a tool and of its server.
func (r *reader) exported(tool *toolset.Tool) {
	r.add(fieldName, tool.Local())
	r.add(fieldServer, tool.Server.Config.Alias)
}

// titles collects the titles of a tool.
func (r *reader) titles(definition *rawjson.Object) {
	r.addString(fieldName, definition.Get("title"))
	if annotations, err := rawjson.ParseObject(definition.Get("annotations"), rawjson.Lenient); err == nil {
		r.addString(fieldName, annotations.Get("title"))
	}
}

// input collects the parameters of a tool.
func (r *reader) input(definition *rawjson.Object) { r.schema(definition.Get("inputSchema"), 0) }

func (r *reader) add(field int, text string) {
	if text != "" {
		r.text[field] = append(r.text[field], strings.ToValidUTF8(text, " "))
	}
}

func (r *reader) addString(field int, raw []byte) {
	if text, ok := rawjson.String(raw); ok {
		r.add(field, text)
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
		r.addString(fieldParamText, n.Get("title"))
		r.addString(fieldParamText, n.Get("description"))
		r.enum(elements(n.Get("enum")))
	}
	if properties, err := rawjson.ParseObject(n.Get("properties"), rawjson.Lenient); err == nil {
		for name, value := range properties.All() {
			if r.properties++; r.properties > maxProperties {
				return
			}
			r.add(fieldParam, name)
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
		r.addString(fieldParamText, value)
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
