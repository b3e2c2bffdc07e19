package legacy_test

import (
	"strings"
	"testing"

	"mcpgateway/services/capabilities"
	"mcpgateway/services/legacy"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/schema"
)

func TestWrapSchema(t *testing.T) {
	for _, tc := range []struct{ name, schema, want string }{ // want is the schema of result, empty for the same bytes
		{"no references", "{ \"type\" : \"array\",\n\"items\":{\"type\":\"number\",\"default\":1e400} }", ""},
		{"boolean", "true", ""},
		{"root", `{"type":"array","items":{"$ref":"#"}}`, `{"type":"array","items":{"$ref":"#/properties/result"}}`},
		{"pointer", `{"anyOf":[{"$ref":"#/$defs/A"},{"$dynamicRef":"#/$defs/A"}],"$defs":{"A":{"type":"string"}}}`,
			`{"anyOf":[{"$ref":"#/properties/result/$defs/A"},{"$dynamicRef":"#/properties/result/$defs/A"}],"$defs":{"A":{"type":"string"}}}`},
		{"escaped", `{"items":{"\u0024ref":"\u0023/a~1b"}}`, `{"items":{"\u0024ref":"#/properties/result/a~1b"}}`},
		{"anchor", `{"items":{"$ref":"#node"},"$defs":{"n":{"$anchor":"node"}}}`, ""},
		{"other document", `{"items":{"$ref":"urn:x#/a"}}`, ""},
		{"data", `{"const":{"$ref":"#"},"enum":[{"$ref":"#"}],"default":{"$ref":"#"},"examples":[{"$ref":"#/a"}],"items":{"type":"number"}}`, ""},
		{"names of properties", `{"items":{"properties":{"const":{"$ref":"#"},"default":{"$ref":"#/$defs/enum"},"$ref":{"type":"string"}}},"$defs":{"enum":{"$ref":"#"}}}`,
			`{"items":{"properties":{"const":{"$ref":"#/properties/result"},"default":{"$ref":"#/properties/result/$defs/enum"},"$ref":{"type":"string"}}},"$defs":{"enum":{"$ref":"#/properties/result"}}}`},
		{"other maps of names", `{"patternProperties":{"default":{"$ref":"#"}},"dependentSchemas":{"enum":{"$ref":"#"}},"definitions":{"examples":{"$ref":"#"}},"dependencies":{"a":["b"],"$id":{"$ref":"#"}}}`,
			`{"patternProperties":{"default":{"$ref":"#/properties/result"}},"dependentSchemas":{"enum":{"$ref":"#/properties/result"}},"definitions":{"examples":{"$ref":"#/properties/result"}},"dependencies":{"a":["b"],"$id":{"$ref":"#/properties/result"}}}`},
		{"own URI", `{"$id":"https://x.example","items":{"$ref":"#/$defs/a"}}`, ""},
		{"own URI inside", `{"anyOf":[{"$ref":"#"},{"$id":"https://x.example","items":{"$ref":"#"}}]}`, `{"anyOf":[{"$ref":"#/properties/result"},{"$id":"https://x.example","items":{"$ref":"#"}}]}`},
		{"id that is an anchor", `{"$id":"#root","items":{"$id":"#item","$ref":"#/definitions/a"}}`, `{"$id":"#root","items":{"$id":"#item","$ref":"#/properties/result/definitions/a"}}`},
		{"property named $id", `{"items":{"properties":{"$id":{"type":"string"}},"allOf":[{"$ref":"#"}]}}`, `{"items":{"properties":{"$id":{"type":"string"}},"allOf":[{"$ref":"#/properties/result"}]}}`},
		{"recursive anchor", `{"$recursiveAnchor":true,"items":{"$recursiveRef":"#"}}`, ""},
	} {
		got, ok := legacy.WrapSchema([]byte(tc.schema))
		if tc.want == "" {
			tc.want = tc.schema
		}
		if want := `{"type":"object","properties":{"result":` + tc.want + `},"required":["result"]}`; string(got) != want || !ok {
			t.Errorf("%s: got %s\nwant %s", tc.name, got, want)
		}
	}
}

func TestWrapSchemaKeepsDialect(t *testing.T) {
	got, _ := legacy.WrapSchema([]byte(`{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"array","items":{"$recursiveRef":"#"}}`))
	if want := `{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object","properties":{"result":{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"array","items":{"$ref":"#/properties/result"}}},"required":["result"]}`; string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestWrapSchemaDepth(t *testing.T) {
	for depth, fits := range map[int]bool{199: true, 200: true, 201: false} {
		raw := strings.Repeat(`{"not":`, depth-1) + `{}` + strings.Repeat(`}`, depth-1)
		if _, ok := legacy.WrapSchema([]byte(raw)); ok != fits {
			t.Errorf("depth %d: ok = %v", depth, ok)
		}
	}
}

func TestIsObjectSchema(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"type":"object"}`: true, `{"type":["object"]}`: false, `{"properties":{}}`: false, `{"type":"array"}`: false, `{}`: false, `true`: false, `{"anyOf":[{"type":"object"}]}`: false,
	} {
		if got := legacy.IsObjectSchema([]byte(raw)); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}

// FuzzWrapSchema moves the references in a wrapped schema back, which must return
// the original schema.
func FuzzWrapSchema(f *testing.F) {
	for _, seed := range []string{
		`{"type":"array","items":{"$ref":"#/$defs/a"},"$defs":{"a":{"type":"number"}}}`,
		`{"anyOf":[{"type":"number"},{"type":"array","items":{"$ref":"#"}}]}`,
		`{"enum":[{"$ref":"#"}],"items":{"properties":{"default":{"$dynamicRef":"#/$defs/const"}}},"$defs":{"const":{"\u0024ref":"#"}}}`,
		`{"$id":"#a","items":[{"$id":"urn:b","$ref":"#"},{"$ref":"#b"}]}`, `true`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if rawjson.Valid([]byte(raw), rawjson.Strict) != nil || strings.Contains(raw, "properties") && strings.Contains(raw, "result") || strings.Contains(raw, "recursive") {
			return
		}
		wrapped, ok := legacy.WrapSchema([]byte(raw))
		if !ok {
			return
		}
		o, err := rawjson.ParseObject(wrapped, rawjson.Strict)
		if err != nil {
			t.Fatalf("%s: %v", wrapped, err)
		}
		inner := string(o.Object("properties").Get("result"))
		back := strings.NewReplacer(`"#/properties/result"`, `"#"`, `"#/properties/result/`, `"#/`).Replace(inner)
		if !capabilities.IsEqual([]byte(back), []byte(raw)) {
			t.Fatalf("%s was wrapped as %s", raw, wrapped)
		}
		if !strings.Contains(raw, "ef") && !strings.Contains(raw, `\`) && inner != strings.TrimSpace(raw) && inner != raw {
			t.Fatalf("%s lacks the bytes of %s", wrapped, raw)
		}
	})
}

// TestWrappedSchemaValidates validates wrapped values by wrapped schemas with
// references.
func TestWrappedSchemaValidates(t *testing.T) {
	const list = `{"type":"array","items":{"$ref":"#/$defs/item"},"$defs":{"item":{"type":"object","properties":{"n":{"type":"integer"},"children":{"$ref":"#"}},"required":["n"]}}}`
	for _, tc := range []struct {
		schema, value string
		valid         bool
	}{
		{list, `[{"n":1,"children":[{"n":2}]}]`, true},
		{list, `[{"n":1,"children":[{"n":"x"}]}]`, false},
		{list, `{"n":1}`, false},
		{`{"anyOf":[{"type":"number"},{"type":"array","items":{"$ref":"#"}}]}`, `[1,[2]]`, true},
		{`{"anyOf":[{"type":"number"},{"type":"array","items":{"$ref":"#"}}]}`, `[1,["x"]]`, false},
	} {
		wrapped, _ := legacy.WrapSchema([]byte(tc.schema))
		definition := []byte(`{"name":"t","inputSchema":` + string(wrapped) + `}`)
		v := schema.NewValidator()
		if reason := v.UncheckedReason(definition); reason != "" {
			t.Fatalf("%s: %s", wrapped, reason)
		}
		if err := v.Check(definition, []byte(`{"result":`+tc.value+`}`)); (err == nil) != tc.valid {
			t.Errorf("%s with %s: %v", tc.schema, tc.value, err)
		}
	}
}
