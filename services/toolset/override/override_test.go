package override_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolset/override"
)

const (
	yes = `{"type":"object","properties":{"owner":{"type":"string"},"repo":{"type":"string"},"page":{"type":"integer","default":1}},"required":["owner","repo","page"]}`
	hi  = `{"name":"t","description":"old","inputSchema":` + yes + `,"annotations":{"title":"A","readOnlyHint":true}}`
)

// environment resolves references from a map.
type environment map[string]string

func (e environment) Resolve(stored, _ string) (secrets.Value, error) {
	if v, ok := e[stored]; ok {
		return secrets.NewValue(v), nil
	}
	return secrets.Value{}, fault.Upstream(fault.CodeUpstreamUnauthorized, "%s is not set", stored)
}

func parse(t *testing.T, text string) models.ToolOverride {
	t.Helper()
	var o models.ToolOverride
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func apply(t *testing.T, definition, text string) (string, override.Applied) {
	t.Helper()
	o, err := rawjson.ParseObject([]byte(definition), rawjson.Strict)
	if err != nil {
		t.Fatal(err)
	}
	change := parse(t, text)
	applied := override.Apply(o, &change)
	return string(o.Bytes()), applied
}

func TestApplyDefinition(t *testing.T) {
	schema := func(s string) string { return `{"inputSchema":` + s + `}` }
	for name, tt := range map[string]struct{ definition, override, want string }{
		"nothing":           {hi, `{}`, hi},
		"texts":             {`{"name":"t"}`, `{"title":"T","description":"<new>"}`, `{"name":"t","title":"T","description":"<new>"}`},
		"annotations merge": {`{"annotations":{"title":"A","readOnlyHint":true}}`, `{"annotations":{"readOnlyHint":false,"destructiveHint":false}}`, `{"annotations":{"title":"A","readOnlyHint":false,"destructiveHint":false}}`},
		"new annotations":   {`{"name":"t"}`, `{"annotations":{"openWorldHint":false}}`, `{"name":"t","annotations":{"openWorldHint":false}}`},
		"fixed":             {schema(yes), `{"fixed":{"owner":"acme"}}`, schema(`{"type":"object","properties":{"repo":{"type":"string"},"page":{"type":"integer","default":1}},"required":["repo","page"]}`)},
		"all fixed":         {schema(`{"type":"object","properties":{"a":{}},"required":["a"]}`), `{"fixed":{"a":1}}`, schema(`{"type":"object","properties":{}}`)},
		"default":           {schema(yes), `{"defaults":{"page":2}}`, schema(`{"type":"object","properties":{"owner":{"type":"string"},"repo":{"type":"string"},"page":{"type":"integer","default":2}},"required":["owner","repo"]}`)},
		"hidden default":    {schema(yes), `{"defaults":{"page":"${PAGE_TOKEN}"}}`, schema(`{"type":"object","properties":{"owner":{"type":"string"},"repo":{"type":"string"},"page":{"type":"integer"}},"required":["owner","repo"]}`)},
		"branches": {
			schema(`{"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["a","b"],"properties":{"a":{"const":1}}},true],"dependentRequired":{"b":["a"]}}`),
			`{"fixed":{"a":1}}`,
			schema(`{"type":"object","properties":{"b":{}},"anyOf":[{},{"required":["b"],"properties":{}},true],"dependentRequired":{}}`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, applied := apply(t, tt.definition, tt.override)
			if got != tt.want || len(applied.Lost)+len(applied.Unused) > 0 {
				t.Errorf("got  %s %+v\nwant %s", got, applied, tt.want)
			}
		})
	}
}

func TestApplyStaleArguments(t *testing.T) {
	for name, definition := range map[string]string{
		"other properties": `{"inputSchema":{"type":"object","properties":{"x":{}},"additionalProperties":true}}`,
		"no properties":    `{"inputSchema":{"type":"object"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, applied := apply(t, definition, `{"fixed":{"b":1,"a":2},"defaults":{"d":1,"c":2}}`)
			if diff := cmp.Diff([][]string{{"a", "b"}, {"c", "d"}}, [][]string{applied.Lost, applied.Unused}); diff != "" || applied.Arguments != nil || got != definition {
				t.Errorf("%s %s", diff, got)
			}
		})
	}
	if _, applied := apply(t, `{"inputSchema":1}`, `{"fixed":{"a":2}}`); len(applied.Lost) != 1 {
		t.Errorf("invalid schema: %+v", applied)
	}
}

func TestApplyArguments(t *testing.T) {
	env := environment{"${A_TOKEN}": `se"cret`, "Bearer ${A_TOKEN}": "Bearer x"}
	for name, tt := range map[string]struct{ override, sent, want, code string }{
		"untouched bytes":       {`{"defaults":{"page":2}}`, `{ "page" : 1.50, "z":[ ] }`, `{ "page" : 1.50, "z":[ ] }`, ""},
		"default fills":         {`{"defaults":{"page":2}}`, `{"a":1}`, `{"a":1,"page":2}`, ""},
		"null is not absent":    {`{"defaults":{"page":2}}`, `{"page":null}`, `{"page":null}`, ""},
		"no arguments":          {`{"fixed":{"owner":"acme"},"defaults":{"page":2}}`, ``, `{"page":2,"owner":"acme"}`, ""},
		"fixed forced":          {`{"fixed":{"owner":{"a":[1.0,"<"]}}}`, `{"repo":"r"}`, `{"repo":"r","owner":{"a":[1.0,"<"]}}`, ""},
		"fixed sent":            {`{"fixed":{"owner":"acme"}}`, `{"owner":"other"}`, "", "INVALID_PARAMETER"},
		"fixed sent with value": {`{"fixed":{"owner":"acme"}}`, `{"owner":"acme"}`, "", "INVALID_PARAMETER"},
		"fixed sent as null":    {`{"fixed":{"owner":"acme"}}`, `{"owner":null}`, "", "INVALID_PARAMETER"},
		"fixed sent escaped":    {`{"fixed":{"owner":"acme"}}`, `{"\u006fwner":1}`, "", "INVALID_PARAMETER"},
		"duplicates":            {`{"fixed":{"owner":"acme"}}`, `{"a":1,"a":2}`, "", "INVALID_PARAMETER"},
		"reference":             {`{"fixed":{"owner":"${A_TOKEN}"}}`, `{}`, `{"owner":"se\"cret"}`, ""},
		"nested references":     {`{"fixed":{"owner":{"h":["Bearer ${A_TOKEN}",1],"x":"y"}}}`, `{}`, `{"owner":{"h":["Bearer x",1],"x":"y"}}`, ""},
		"escaped reference":     {`{"fixed":{"owner":"\u0024{A_TOKEN}"}}`, `{}`, `{"owner":"se\"cret"}`, ""},
		"missing reference":     {`{"fixed":{"owner":"${NO_TOKEN}"}}`, `{}`, "", "UPSTREAM_UNAUTHORIZED"},
		"default's reference":   {`{"defaults":{"page":"${NO_TOKEN}"}}`, `{"page":1}`, `{"page":1}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, applied := apply(t, `{"inputSchema":`+yes+`}`, tt.override)
			got, err := applied.Arguments.Apply([]byte(tt.sent), env)
			if code := string(fault.From(err).Code); err != nil && code != tt.code || err == nil && tt.code != "" || string(got) != tt.want {
				t.Errorf("got %s, %v; want %s, %s", got, err, tt.want, tt.code)
			}
		})
	}
	if got, err := (*override.Arguments)(nil).Apply([]byte(`[`), nil); err != nil || string(got) != `[` {
		t.Errorf("without arguments: %s, %v", got, err)
	}
}

func TestReferences(t *testing.T) {
	overrides := models.ToolOverrides{
		"a": parse(t, `{"fixed":{"x":["${B_TOKEN}",{"${NOT}":"${A_TOKEN}"}]},"defaults":{"y":"${B_TOKEN}","z":"$A"}}`),
		"b": parse(t, `{"fixed":{"x":"\u0024{C_TOKEN}"}}`),
	}
	if diff := cmp.Diff([]string{"${A_TOKEN}", "${B_TOKEN}", "${C_TOKEN}"}, override.References(overrides)); diff != "" {
		t.Error(diff)
	}
}
