package recipes

import (
	"encoding/json"
	"slices"

	"mcpgateway/services/declaration"
	"mcpgateway/services/rawjson"
)

// EmptySchema is the input schema of a recipe without input.
const EmptySchema = `{"type":"object","properties":{},"additionalProperties":false}`

// Limits of proposed schemas. Deeper and larger parts of an input get no separate
// schema.
const (
	maxSchemaDepth   = 5
	maxSchemaMembers = 50
)

// SchemaOf proposes the input schema of a recipe from the input of a run, which may
// be nil. All members of objects are required. It returns EmptySchema for no
// input, and for an input that is not an object.
func SchemaOf(input []byte) string {
	if rawjson.Kind(input) != '{' {
		return EmptySchema
	}
	raw, err := json.Marshal(schemaOf(input, 0))
	if err != nil || len(raw) > declaration.MaxRecipeSchema {
		return `{"type":"object"}`
	}
	return declaration.CompactSchema(string(raw))
}

// proposed is a proposed schema.
type proposed struct {
	Type       string               `json:"type,omitempty"`
	Properties map[string]*proposed `json:"properties,omitempty"`
	Items      *proposed            `json:"items,omitempty"`
	Required   []string             `json:"required,omitempty"`
	Additional *bool                `json:"additionalProperties,omitempty"`
}

func schemaOf(value []byte, depth int) *proposed {
	if depth > maxSchemaDepth {
		return &proposed{}
	}
	switch rawjson.Kind(value) {
	case '"':
		return &proposed{Type: "string"}
	case 't', 'f':
		return &proposed{Type: "boolean"}
	case '[':
		return schemaOfArray(value, depth)
	case '{':
		return schemaOfObject(value, depth)
	case 'n':
		return &proposed{}
	}
	return &proposed{Type: "number"}
}

func schemaOfArray(value []byte, depth int) *proposed {
	s := &proposed{Type: "array"}
	items, err := rawjson.Elements(value, rawjson.Lenient)
	if err != nil || len(items) == 0 {
		return s
	}
	kind := rawjson.Kind(items[0])
	if !slices.ContainsFunc(items, func(item []byte) bool { return rawjson.Kind(item) != kind }) && kind != '{' {
		s.Items = schemaOf(items[0], depth+1)
	}
	return s
}

func schemaOfObject(value []byte, depth int) *proposed {
	s := &proposed{Type: "object"}
	o, err := rawjson.ParseObject(value, rawjson.Lenient)
	if err != nil || o.Len() > maxSchemaMembers {
		return s
	}
	s.Properties, s.Additional = map[string]*proposed{}, new(bool)
	for name, member := range o.All() {
		s.Properties[name] = schemaOf(member, depth+1)
		s.Required = append(s.Required, name)
	}
	return s
}
