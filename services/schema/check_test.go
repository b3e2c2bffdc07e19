package schema_test

import (
	"testing"

	"mcpgateway/services/schema"
)

func TestProblem(t *testing.T) {
	for raw, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"$ref":"#/$defs/b"},"type":{"enum":["strin"]}},"$defs":{"b":{"minimum":1}},"foo":1}`: "",
		`{"type":"object","properties":{"a":{"items":[{"type":"string"}]}}}`:                                                                                     "",
		`{"type":"object","properties":5}`:                                "properties can't be a number",
		`{"type":"object","required":"x"}`:                                "required can't be a string",
		`{"type":"object","properties":{"a":{"enum":{}}}}`:                "enum can't be an object",
		`{"type":"object","properties":{"a":{"type":"strin"}}}`:           "properties.a.type: strin is none of array, boolean, integer, null, number, object, string",
		`{"type":"object","properties":{"a":{"items":{"type":["x"]}}}}`:   "properties.a.items.type: x is none of array, boolean, integer, null, number, object, string",
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"x"}]}}}`:   "properties.a.anyOf.0.type: x is none of array, boolean, integer, null, number, object, string",
		`{"type":"object","properties":{"a":{"pattern":"("}}}`:            "pattern: error parsing regexp: missing closing ): `(`",
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/missing"}}}`: "JSON Pointer \"/$defs/missing\": no key \"missing\" in map",
	} {
		if got := schema.Problem([]byte(raw)); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}
