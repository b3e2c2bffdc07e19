package toolset

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

func TestDefinitionsAreRepaired(t *testing.T) {
	for name, tc := range map[string]struct{ raw, want, repair string }{
		"no schema":                {`{"name":"x"}`, `{"name":"x","inputSchema":{"type":"object"}}`, "inputSchema was missing"},
		"null schema":              {`{"name":"x","inputSchema":null}`, `{"name":"x","inputSchema":{"type":"object"}}`, "inputSchema was missing"},
		"true schema":              {`{"name":"x","inputSchema":true}`, `{"name":"x","inputSchema":{"type":"object"}}`, "inputSchema was missing"},
		"no type":                  {`{"inputSchema":{"properties":{}}}`, `{"inputSchema":{"properties":{},"type":"object"}}`, "had no type"},
		"object or null":           {`{"inputSchema":{"type":["null","object"]}}`, `{"inputSchema":{"type":"object"}}`, "narrowed"},
		"empty list as properties": {`{"inputSchema":{"type":"object","properties":[]}}`, `{"inputSchema":{"type":"object","properties":{}}}`, "properties"},
		"null properties":          {`{"inputSchema":{"type":"object","properties":null}}`, `{"inputSchema":{"type":"object","properties":{}}}`, "properties"},
		"boolean properties": {
			`{"inputSchema":{"type":"object","properties":{"a":true,"b":false,"c":{"type":"string"}}}}`,
			`{"inputSchema":{"type":"object","properties":{"a":{},"b":{"not":{}},"c":{"type":"string"}}}}`, `"b"`,
		},
		"required of draft 3":                     {`{"inputSchema":{"type":"object","required":true}}`, `{"inputSchema":{"type":"object"}}`, "required"},
		"null required":                           {`{"inputSchema":{"type":"object","required":null}}`, `{"inputSchema":{"type":"object"}}`, "required"},
		"required with a number":                  {`{"inputSchema":{"type":"object","required":["a",1]}}`, `{"inputSchema":{"type":"object"}}`, "required"},
		"invalid texts":                           {`{"title":1,"description":{"en":"x"},"inputSchema":{"type":"object"}}`, `{"inputSchema":{"type":"object"}}`, "description"},
		"members of the wrong type":               {`{"annotations":[],"_meta":null,"icons":{},"execution":1,"inputSchema":{"type":"object"}}`, `{"inputSchema":{"type":"object"}}`, "icons"},
		"hint that is a string":                   {`{"annotations":{"readOnlyHint":"yes","title":"T"},"inputSchema":{"type":"object"}}`, `{"annotations":{"title":"T"},"inputSchema":{"type":"object"}}`, "readOnlyHint"},
		"null outputSchema":                       {`{"inputSchema":{"type":"object"},"outputSchema":null}`, `{"inputSchema":{"type":"object"}}`, "outputSchema"},
		"outputSchema with an external reference": {`{"inputSchema":{"type":"object"},"outputSchema":{"$ref":"http://a/b"}}`, `{"inputSchema":{"type":"object"}}`, "outputSchema"},
	} {
		got := Inspect([]byte(tc.raw))
		if got.Broken != "" || !strings.Contains(strings.Join(got.Repairs, "\n"), tc.repair) {
			t.Errorf("%s: %+v", name, got)
		}
		if diff := cmp.Diff(tc.want, string(got.Definition)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		again := Inspect(got.Definition)
		if len(again.Repairs) > 0 || again.Broken != "" || string(again.Definition) != string(got.Definition) {
			t.Errorf("%s: a repaired definition was repaired again: %+v", name, again)
		}
	}
}

func TestValidDefinitionsKeepBytes(t *testing.T) {
	for _, raw := range []string{
		`{ "name" : "x","inputSchema":{"type":"object"} }`,
		`{"inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"},"b":{"$ref":"other"}},"required":[],"$schema":"http://json-schema.org/draft-07/schema#","$defs":{"a":{"type":["string","null"]}}}}`,
		`{"inputSchema":{"type":"object","properties":{"$ref":{"type":"string","description":"http://a/b"}}},"annotations":{"readOnlyHint":true},"icons":[],"_meta":{},"x-own":1e400}`,
		`{"inputSchema":{"type":"object","allOf":[{"$ref":"https://json-schema.org/draft/2020-12/schema"}]},"outputSchema":true}`,
	} {
		if got := Inspect([]byte(raw)); got.Broken != "" || len(got.Repairs) > 0 || string(got.Definition) != raw {
			t.Errorf("%s: %+v", raw, got)
		}
	}
}

func TestOnlyBrokenDefinitionsAreHidden(t *testing.T) {
	for raw, why := range map[string]string{
		`{"inputSchema":"object"}`:                                                                   "not an object",
		`{"inputSchema":[]}`:                                                                         "not an object",
		`{"inputSchema":false}`:                                                                      "not an object",
		`{"inputSchema":{"type":"string"}}`:                                                          "has type string",
		`{"inputSchema":{"type":["string"]}}`:                                                        "allow objects",
		`{"inputSchema":{"type":"object","properties":["a"]}}`:                                       "are a list",
		`{"inputSchema":{"type":"object","properties":"a"}}`:                                         "not an object",
		`{"inputSchema":{"type":"object","properties":{"a":"string"}}}`:                              `"a"`,
		`{"inputSchema":{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}}`:         "file:///etc/passwd",
		`{"inputSchema":{"type":"object","anyOf":[{"items":[{"$ref":"http://169.254.169.254/"}]}]}}`: "http://169.254.169.254/",
	} {
		s := Build(Source{
			Servers: []models.Server{server("1", "a", nil)},
			Tools:   map[string][]models.Tool{"1": {plain("before"), tool("x", raw), plain("after")}},
		}, noTarget)
		if got := fmt.Sprint(listed(t, s, EraHandshake)); got != "[a__before a__after]" {
			t.Errorf("%s: listed tools = %s", raw, got)
		}
		_, err := s.Resolve("a__x")
		if !fault.Is(err, fault.CodeToolDisabled) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", raw, err, why)
		}
	}
}

// TestHostileSchemas checks that no definition is expensive.
func TestHostileSchemas(t *testing.T) {
	nested := strings.Repeat(`{"anyOf":[`, 60) + `{"$ref":"#"}` + strings.Repeat(`]}`, 60)
	wide := `{"anyOf":[` + strings.Repeat(`{"$ref":"#"},`, 100_000) + `{}]}`
	for _, schema := range []string{nested, wide} {
		i := &inspector{}
		begin := time.Now()
		i.references([]byte(schema))
		if took := time.Since(begin); i.broken != "" || took > time.Second {
			t.Errorf("%.40s: %q after %s", schema, i.broken, took)
		}
	}
}

func FuzzInspect(f *testing.F) {
	for _, seed := range []string{`{"inputSchema":{"type":"object"}}`, `{"inputSchema":{"type":["object"],"properties":[],"required":true}}`, `{"annotations":{"title":1}}`, `[]`, `{`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := Inspect(raw)
		if got.Broken != "" {
			return
		}
		definition, err := rawjson.ParseObject(got.Definition, rawjson.Lenient)
		if err != nil {
			t.Fatalf("%s became %s: %v", raw, got.Definition, err)
		}
		if typ, _ := definition.Object("inputSchema").String("type"); typ != "object" {
			t.Errorf("%s became %s", raw, got.Definition)
		}
		if again := Inspect(got.Definition); len(again.Repairs) > 0 || again.Broken != "" {
			t.Errorf("%s became %s, and that %+v", raw, got.Definition, again)
		}
	})
}
