package typescript_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"mcpgateway/services/toolset"
	"mcpgateway/services/typescript"
	"mcpgateway/services/typescript/typescripttest"
)

// schemaMaker generates random schemas, many with unusual combinations of
// keywords.
type schemaMaker struct{ *rand.Rand }

func (m schemaMaker) names() []string { return []string{"a", "b", "toString", "a-b", "__proto__"} }

func (m schemaMaker) schema(depth int) any {
	if depth <= 0 || m.IntN(12) == 0 {
		return []any{true, false, map[string]any{}, map[string]any{"type": "string"}, map[string]any{"$ref": "#"}}[m.IntN(5)]
	}
	s := map[string]any{}
	for range 1 + m.IntN(4) {
		m.keyword(s, depth-1)
	}
	return s
}

func (m schemaMaker) list(depth int) []any {
	out := make([]any, 1+m.IntN(3))
	for i := range out {
		out[i] = m.schema(depth)
	}
	return out
}

func (m schemaMaker) members(depth int) map[string]any {
	out := map[string]any{}
	for range 1 + m.IntN(3) {
		out[m.names()[m.IntN(5)]] = m.schema(depth)
	}
	return out
}

func (m schemaMaker) keyword(s map[string]any, depth int) {
	types := []string{"string", "number", "integer", "boolean", "null", "array", "object"}
	switch m.IntN(16) {
	case 0:
		s["type"] = types[m.IntN(7)]
	case 1:
		s["type"] = []string{types[m.IntN(7)], types[m.IntN(7)]}
	case 2:
		s["enum"] = []any{"a", 1, nil, true, map[string]any{"k": []any{1}}, -2.5}[m.IntN(4):]
	case 3:
		s["const"] = []any{"a", 0, nil, []any{"x"}, map[string]any{}}[m.IntN(5)]
	case 4, 5:
		s["properties"] = m.members(depth)
	case 6:
		s["required"] = []string{m.names()[m.IntN(5)], "ghost"}[:1+m.IntN(2)]
	case 7:
		s["additionalProperties"] = m.schema(depth)
	case 8:
		s["patternProperties"] = map[string]any{"^x": m.schema(depth)}
	case 9:
		s["items"] = m.schema(depth)
	case 10:
		s["prefixItems"] = m.list(depth)
		s["minItems"] = m.IntN(3)
	case 11:
		s["anyOf"] = m.list(depth)
	case 12:
		s["oneOf"] = m.list(depth)
	case 13:
		s["allOf"] = m.list(depth)
	case 14:
		s["$ref"] = []string{"#/$defs/A", "#/$defs/B", "#/$defs/C", "#", "#/$defs/A/properties/a", "https://example.com"}[m.IntN(6)]
	case 15:
		s["nullable"], s["description"], s["propertyNames"] = true, "*/ x", map[string]any{"enum": m.names()}
	}
}

func (m schemaMaker) definition(name string) []byte {
	root, ok := m.schema(4).(map[string]any)
	if !ok {
		root = map[string]any{}
	}
	root["$defs"] = map[string]any{"A": m.schema(3), "B": m.schema(3), "C": m.schema(3)}
	raw, _ := json.Marshal(map[string]any{"name": name, "inputSchema": root, "outputSchema": root})
	return raw
}

// With some of these seeds, schemas once made self-referencing types that the
// compiler rejects or never finishes.
func TestRandomSchemasTypeCheck(t *testing.T) {
	const cases = 400
	var tools []*toolset.Tool
	for _, seed := range []uint64{10, 16, 25} {
		maker := schemaMaker{rand.New(rand.NewPCG(seed, 1))}
		for i := range cases {
			name := fmt.Sprintf("t%d", i)
			tools = append(tools, typescripttest.Tool(fmt.Sprintf("random%d", seed), name, maker.definition(name)))
		}
	}
	declared := typescripttest.Declare(t, tools, typescript.Settings{})
	if declared.Tools != len(tools) {
		t.Fatalf("%d of %d tools are declared", declared.Tools, len(tools))
	}
	dir := t.TempDir()
	typescripttest.WriteTestFile(t, filepath.Join(dir, "declarations.ts"), declared.Text)
	for i, e := range typescripttest.CompileTypes(t, dir, "declarations.ts") {
		if i < 10 {
			t.Errorf("line %d: %s", e.Line, e.Text)
		}
	}
}
