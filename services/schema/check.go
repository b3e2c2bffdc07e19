package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// The keywords whose values are schemas: by name, single or in an array.
var (
	schemasByName = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
	schemas       = []string{
		"additionalProperties", "items", "contains", "not", "if", "then", "else", "propertyNames", "unevaluatedItems", "unevaluatedProperties",
		"allOf", "anyOf", "oneOf", "prefixItems",
	}
)

// types are the values of the keyword type (JSON Schema 2020-12, validation, section
// 6.1.1).
var types = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// Problem returns what is wrong in a schema that people write, or "". Schemas of
// servers are not held to it: what is wrong in them is ignored.
func Problem(raw []byte) string {
	var s jsonschema.Schema
	err := json.Unmarshal(raw, &s)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return fmt.Sprintf("%s can't be %s", wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:], article(wrong.Value))
	case err != nil:
		return OneLine(err.Error(), MaxTagText)
	}
	var decoded any
	if err := json.Unmarshal(raw, &decoded); err != nil {
		return OneLine(err.Error(), MaxTagText)
	}
	if why := typeProblem("", decoded); why != "" {
		return why
	}
	if _, err := resolve(&s); err != nil {
		text := err.Error()
		if _, inner, found := strings.Cut(text, "<anonymous schema>: "); found {
			text = inner
		}
		return OneLine(text, MaxTagText)
	}
	return ""
}

// article returns a kind of JSON value with its article.
func article(kind string) string {
	if strings.ContainsAny(kind[:1], "ao") {
		return "an " + kind
	}
	return "a " + kind
}

// typeProblem returns the first type in a schema or array of schemas that JSON Schema
// doesn't define.
func typeProblem(path string, v any) string {
	if list, ok := v.([]any); ok {
		for i, inner := range list {
			if why := typeProblem(fmt.Sprintf("%s%d.", path, i), inner); why != "" {
				return why
			}
		}
		return ""
	}
	schema, ok := v.(map[string]any)
	if !ok {
		return ""
	}
	named := schema["type"]
	list, ok := named.([]any)
	if !ok && named != nil {
		list = []any{named}
	}
	for _, one := range list {
		if text, _ := one.(string); !slices.Contains(types, text) {
			return fmt.Sprintf("%stype: %v is none of %s", path, one, strings.Join(types, ", "))
		}
	}
	for _, keyword := range schemas {
		if why := typeProblem(path+keyword+".", schema[keyword]); why != "" {
			return why
		}
	}
	for _, keyword := range schemasByName {
		inner, _ := schema[keyword].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(inner)) {
			if why := typeProblem(path+keyword+"."+name+".", inner[name]); why != "" {
				return why
			}
		}
	}
	return ""
}
