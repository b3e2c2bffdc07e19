package ui_test

import (
	"strconv"
	"strings"
	"testing"

	"mcpgateway/views/ui"
)

func TestSchemaNodes(t *testing.T) {
	schema := `{
		"type": "object", "required": ["b", "list"],
		"properties": {
			"b": {"type": "string", "description": "Words.", "minLength": 1, "maxLength": 9, "pattern": "^a"},
			"a": {"type": ["integer", "null"], "minimum": 1, "exclusiveMaximum": 12345678901234567890, "default": null},
			"choice": {"enum": ["x", 2, true], "const": "x", "format": "uri", "title": "One of them"},
			"list": {"type": "array", "maxItems": 3, "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "number", "multipleOf": 0.5}}}},
			"either": {"anyOf": [{"type": "string"}, {"type": "object", "description": "In full.", "properties": {"name": {"$ref": "#/$defs/name"}}}, {"type": "string"}]},
			"free": true
		}
	}`
	same(t, "nodes", ui.SchemaNodes([]byte(schema)), []ui.Node{
		{Name: "b", Type: "string", Text: "Words.", Note: "pattern ^a · min length 1 · max length 9", Required: true, Open: true},
		{Name: "a", Type: "integer or null", Note: "default null · from 1 · below 12345678901234567890", Open: true},
		{Name: "choice", Text: "One of them", Note: `one of "x", 2, true · always "x" · uri`, Open: true},
		{Name: "list", Type: "array of object", Note: "max items 3", Required: true, Open: true, Children: []ui.Node{
			{Name: "id", Type: "number", Note: "steps of 0.5", Required: true},
		}},
		{Name: "either", Type: "string or object", Open: true, Children: []ui.Node{
			{Name: "anyOf 2", Type: "object", Text: "In full.", Children: []ui.Node{{Name: "name", Type: "#/$defs/name"}}},
		}},
		{Name: "free", Open: true},
	})
}

func TestValueNodes(t *testing.T) {
	same(t, "an object", ui.ValueNodes([]byte(`{"z":1.50,"a":[true,null,{}],"s":"x\ny","o":{"k":9007199254740993}}`)), []ui.Node{
		{Name: "z", Value: "1.50", Open: true},
		{Name: "a", Type: "3 items", Open: true, Children: []ui.Node{{Name: "0", Value: "true", Open: true}, {Name: "1", Value: "null", Open: true}, {Name: "2", Type: "0 members", Open: true}}},
		{Name: "s", Value: "\"x\ny\"", Open: true},
		{Name: "o", Type: "1 member", Open: true, Children: []ui.Node{{Name: "k", Value: "9007199254740993", Open: true}}},
	})
	same(t, "a string", ui.ValueNodes([]byte(`"x"`)), []ui.Node{{Value: `"x"`, Open: true}})
}

func TestTreeOfInvalidJSON(t *testing.T) {
	for _, raw := range []string{"", "{", `{"a":}`, `{"a":1`, "[1", "nonsense", `{"a" 1}`} {
		if got := ui.ValueNodes([]byte(raw)); got != nil {
			t.Errorf("nodes of %q = %v, want none", raw, got)
		}
		if got := ui.SchemaNodes([]byte(raw)); got != nil {
			t.Errorf("properties of %q = %v, want none", raw, got)
		}
	}
	if got := ui.SchemaNodes([]byte(`[1]`)); got != nil {
		t.Errorf("properties of an array = %v, want none", got)
	}
}

func TestTreeLimits(t *testing.T) {
	t.Run("depth", func(t *testing.T) {
		for depth, shown := range map[int]bool{30: true, 31: true, 32: false} {
			raw := strings.Repeat("[", depth) + "1" + strings.Repeat("]", depth)
			if got := ui.ValueNodes([]byte(raw)) != nil; got != shown {
				t.Errorf("%d nested arrays: shown = %t, want %t", depth, got, shown)
			}
		}
	})
	t.Run("size", func(t *testing.T) {
		for size, shown := range map[int]bool{1<<20 - 1: true, 1 << 20: true, 1<<20 + 1: false} {
			raw := `"` + strings.Repeat("x", size-2) + `"`
			if got := ui.ValueNodes([]byte(raw)) != nil; got != shown {
				t.Errorf("%d bytes: shown = %t, want %t", size, got, shown)
			}
		}
	})
	t.Run("values", func(t *testing.T) {
		// The array is a value too.
		for items, shown := range map[int]int{1998: 1998, 1999: 1999, 2000: 1999, 9000: 1999} {
			raw := "[" + strings.TrimSuffix(strings.Repeat("7,", items), ",") + "]"
			nodes := ui.ValueNodes([]byte(raw))
			values := 0
			for _, n := range nodes {
				if n.Value == "7" {
					values++
				}
			}
			if values != shown || (len(nodes) > values) != (items > shown) {
				t.Errorf("%d items: shown %d in %d lines, want %d", items, values, len(nodes), shown)
			}
		}
	})
	t.Run("text", func(t *testing.T) {
		for length, want := range map[int]int{1999: 1999, 2000: 2000, 2001: 2001, 9000: 2001} {
			value := ui.ValueNodes([]byte(strconv.Quote(strings.Repeat("é", length))))[0].Value
			if got := len([]rune(value)) - len(`""`); got != want || strings.Contains(value, "…") != (length > 2000) {
				t.Errorf("%d letters: shown %d, want %d", length, got, want)
			}
		}
	})
}
