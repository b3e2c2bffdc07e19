package toolsearch

import (
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
	properties int
	enums      int
}

// readTool returns the searchable text of a tool. Invalid parts of its
// definition are skipped.
func readTool(tool *toolset.Tool) document {
	r := reader{}
	r.add(fieldName, tool.Upstream)
	r.add(fieldServer, tool.Server.Config.Alias)
	definition, err := rawjson.ParseObject(tool.Definition, rawjson.Lenient)
	if err != nil {
		return r.document
	}
	r.addString(fieldName, definition.Get("title"))
	r.addString(fieldName, definition.Object("annotations").Get("title"))
	r.addString(fieldDescription, definition.Get("description"))
	r.schema(definition.Object("inputSchema"), 0)
	return r.document
}

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

// schema collects the names and texts of a JSON Schema's parameters.
func (r *reader) schema(schema *rawjson.Object, depth int) {
	if schema == nil || depth > maxSchemaDepth {
		return
	}
	if depth > 0 {
		r.addString(fieldParamText, schema.Get("title"))
		r.addString(fieldParamText, schema.Get("description"))
		r.enum(schema.Get("enum"))
	}
	properties := schema.Object("properties")
	names := properties.Names()
	for _, name := range names[:min(len(names), maxProperties)] {
		if r.properties++; r.properties > maxProperties {
			return
		}
		r.add(fieldParam, name)
		r.schema(properties.Object(name), depth+1)
	}
	r.schema(schema.Object("items"), depth+1)
	for _, name := range [...]string{"anyOf", "oneOf", "allOf"} {
		raw := schema.Get(name)
		if rawjson.Kind(raw) != '[' {
			continue
		}
		branches, err := rawjson.Elements(raw, rawjson.Lenient)
		if err != nil {
			continue
		}
		for _, branch := range branches[:min(len(branches), maxProperties)] {
			if r.properties++; r.properties > maxProperties {
				return
			}
			if object, err := rawjson.ParseObject(branch, rawjson.Lenient); err == nil {
				r.schema(object, depth+1)
			}
		}
	}
}

func (r *reader) enum(raw []byte) {
	if rawjson.Kind(raw) != '[' || r.enums >= maxEnumValues {
		return
	}
	values, err := rawjson.Elements(raw, rawjson.Lenient)
	if err != nil {
		return
	}
	for _, value := range values {
		if r.enums++; r.enums > maxEnumValues {
			return
		}
		r.addString(fieldParamText, value)
	}
}
