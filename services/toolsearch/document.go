package toolsearch

import (
	"strings"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/schema"
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
	r.add(fieldName, tool.Local())
	r.add(fieldServer, tool.Server.Config.Alias)
	definition, err := rawjson.ParseObject(tool.Definition, rawjson.Lenient)
	if err != nil {
		return r.document
	}
	r.addString(fieldName, definition.Get("title"))
	r.addString(fieldName, definition.Object("annotations").Get("title"))
	r.addString(fieldDescription, definition.Get("description"))
	raw := definition.Get("inputSchema")
	if root, err := schema.ParseValue(raw, len(raw)); err == nil {
		r.schema(root, 0)
	}
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

// schema collects the names and texts of the parameters below a JSON Schema.
func (r *reader) schema(n *schema.Node, depth int) {
	if !n.Is('{') || depth > maxSchemaDepth {
		return
	}
	if depth > 0 {
		r.add(fieldParamText, n.StringOf("title"))
		r.add(fieldParamText, n.StringOf("description"))
		r.enum(n.ListOf("enum"))
	}
	for _, m := range n.ObjectOf("properties").All() {
		if r.properties++; r.properties > maxProperties {
			return
		}
		r.add(fieldParam, m.Name)
		r.schema(m.Value, depth+1)
	}
	r.schema(n.Get("items"), depth+1)
	for _, keyword := range [...]string{"anyOf", "oneOf", "allOf"} {
		for _, branch := range n.ListOf(keyword) {
			if r.properties++; r.properties > maxProperties {
				return
			}
			r.schema(branch, depth+1)
		}
	}
}

func (r *reader) enum(values []*schema.Node) {
	for _, value := range values {
		if r.enums++; r.enums > maxEnumValues {
			return
		}
		if value.Is('"') {
			r.add(fieldParamText, value.Text)
		}
	}
}
