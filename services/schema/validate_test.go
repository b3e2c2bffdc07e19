package schema_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/schema"
	"mcpgateway/services/typescript/typescripttest"
)

func withSchema(schema string) []byte { return []byte(`{"name":"x","inputSchema":` + schema + `}`) }

func TestMismatchesAreExplained(t *testing.T) {
	const issue = `{"type":"object","properties":{"repo":{"type":"string"},"page":{"type":"integer","minimum":1},"state":{"enum":["open","closed"]},
		"labels":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}}},"required":["repo"],"additionalProperties":false}`
	v := schema.NewValidator()
	for _, tc := range []struct{ name, schema, arguments, want string }{
		{"valid", issue, `{"repo":"a"}`, ""},
		{"name with an ending", issue, `{"repoName":"a"}`, "unknown 'repoName', did you mean 'repo'?"},
		{"mistyped name", issue, `{"repo":"a","stat":"open"}`, "unknown 'stat', did you mean 'state'?"},
		{"another style of name", `{"properties":{"perPage":{}},"additionalProperties":false}`, `{"per_page":1}`, "unknown 'per_page', did you mean 'perPage'?"},
		{"another style where names are open", `{"properties":{"repo":{}},"required":["repo"]}`, `{"repository":1}`, "unknown 'repository', did you mean 'repo'?"},
		{"a name like none", issue, `{"repo":"a","xyzzy":1}`, "unknown 'xyzzy'; known are 'repo', 'page', 'state', 'labels'"},
		{"nothing is known", `{"type":"object","additionalProperties":false}`, `{"a":1}`, "unknown 'a'; it takes none"},
		{"missing", issue, `{"page":1}`, "'repo' is missing"},
		{"type", issue, `{"repo":7}`, "repo: must be string, not the number 7"},
		{"fraction", issue, `{"repo":"a","page":1.5}`, "page: must be integer, not the number 1.5"},
		{"bound", issue, `{"repo":"a","page":0}`, "page: must be at least 1"},
		{"enumeration", issue, `{"repo":"a","state":"opened"}`, `state: must be one of "open" | "closed"; did you mean 'open'?`},
		{"inside", issue, `{"repo":"a","labels":[{"name":"b"},{"names":"c"}]}`, "labels[1]: unknown 'names', did you mean 'name'?"},
		{"inside, type", issue, `{"repo":"a","labels":[{"name":null}]}`, "labels[0].name: must be string, not null"},
		{"draft-04", `{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x/y","properties":{"n":{"minimum":0,"exclusiveMinimum":true}}}`, `{"n":0}`, "the arguments do not fit the tool's inputSchema"},
		{"draft-04 in bounds", `{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x/y","properties":{"n":{"minimum":0,"exclusiveMinimum":true}}}`, `{"n":0.5}`, ""},
		{"draft-07 tuple", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"t":{"items":[{"type":"string"}],"additionalItems":false}}}`, `{"t":["a",1]}`, "t[1]: nothing is allowed here"},
		{"draft-07 ignores what stands beside a reference", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"t":{"$ref":"#/definitions/a","type":"number"}},"definitions":{"a":{"type":"string"}}}`, `{"t":"a"}`, ""},
		{"2020-12 does not", `{"properties":{"t":{"$ref":"#/definitions/a","minLength":2}},"definitions":{"a":{"type":"string"}},"$defs":{}}`, `{"t":"a"}`, "t: must have at least 2 characters"},
		{"nullable", `{"properties":{"a":{"type":"string","nullable":true}}}`, `{"a":null}`, ""},
		{"recursive", `{"properties":{"v":{"type":"number"},"next":{"$ref":"#"}}}`, `{"next":{"next":{"v":"x"}}}`, "next.next.v: must be number, not string"},
		{"alternatives", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"object","required":["id"]}]}}}`, `{"a":{}}`, "a: 'id' is missing"},
		{"no alternative", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":1}`, "a: must be string or null, not the number 1"},
		{"pattern", `{"properties":{"a":{"type":"string","pattern":"^[a-z]+$"}}}`, `{"a":"A"}`, "a: must match the pattern ^[a-z]+$"},
		{"a pattern that only others know is left out", `{"properties":{"a":{"type":"string","pattern":"^(?=x)"}}}`, `{"a":"A"}`, ""},
		{"fractions are not divided", `{"properties":{"a":{"multipleOf":0.01}}}`, `{"a":0.29}`, ""},
		{"a negation of what cannot be read", `{"properties":{"a":{"not":{"pattern":"^(?=x)"}}}}`, `{"a":"y"}`, ""},
		{"alternatives that cannot all be read", `{"properties":{"a":{"oneOf":[{"pattern":"^(?=x)"},{"pattern":"^y"}]}}}`, `{"a":"y"}`, ""},
		{"a condition that cannot be read", `{"if":{"properties":{"a":{"multipleOf":0.5}}},"then":{"required":["b"]}}`, `{"a":0.3}`, ""},
		{"a condition that can", `{"if":{"properties":{"a":{"const":1}},"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, "the arguments do not fit the tool's inputSchema"},
		{"dynamic references", `{"properties":{"a":{"$dynamicRef":"#x"},"b":{"type":"string"}}}`, `{"a":1,"b":2}`, "b: must be string, not the number 2"},
		{"no object", issue, `[1]`, "the arguments must be one JSON object"},
		{"odd names", `{"properties":{"a b":{"properties":{"c":{"type":"string"}}}}}`, `{"a b":{"c":1}}`, "['a b'].c: must be string, not the number 1"},
		{"hostile names", `{"properties":{},"additionalProperties":false}`, "{\"a\u202e\\nb\":1}", "unknown 'a b'; it takes none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if why := v.Unchecked(withSchema(tc.schema)); why != "" {
				t.Fatalf("not checked: %s", why)
			}
			err := v.Check(withSchema(tc.schema), []byte(tc.arguments))
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want == "":
			case err == nil:
				t.Error("accepted")
			default:
				if f := fault.From(err); f.Message != tc.want || f.Code != fault.CodeInvalidParameter {
					t.Errorf("got %s %q, want %q", f.Code, f.Message, tc.want)
				}
			}
		})
	}
}

func TestSchemasThatCannotBeCheckedAreNot(t *testing.T) {
	many := strings.Repeat(`{"minimum":1},`, 5_000)
	v := schema.NewValidator()
	for _, tc := range []struct{ name, definition, want string }{
		{"another document", `{"inputSchema":{"properties":{"a":{"$ref":"https://example.com/s.json"}}}}`, "refers to another one"},
		{"nowhere", `{"inputSchema":{"properties":{"a":{"$ref":"#/$defs/none"}}}}`, "refers to another one"},
		{"a circle", `{"inputSchema":{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}}}}`, "defined by itself"},
		{"own identifiers", `{"inputSchema":{"properties":{"a":{"$id":"x.json"}}}}`, "identifiers of their own"},
		{"too many alternatives", `{"inputSchema":{"properties":{"a":{"anyOf":[` + many + `{}]}}}}`, "too much to check"},
		{"null", `{"inputSchema":{"properties":{"a":null}}}`, "is no schema"},
		{"unknown type", `{"inputSchema":{"type":"object","properties":{"a":{"type":"text"}},"$defs":{"a":1,"b":{"$ref":"#/$defs/a"}},"anyOf":[{"$ref":"#/$defs/a"}]}}`, "refers to another one"},
		{"no schema", `{"name":"x"}`, "no inputSchema"},
		{"no JSON", `{`, "unexpected EOF"},
		{"too large", `{"inputSchema":{"description":"` + strings.Repeat("x", schema.MaxBytes) + `"}}`, "too large"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if why := v.Unchecked([]byte(tc.definition)); !strings.Contains(why, tc.want) {
				t.Errorf("the reason is %q, want %q", why, tc.want)
			}
			if err := v.Check([]byte(tc.definition), []byte(`{"a":1}`)); err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

func TestValidationCostIsBounded(t *testing.T) {
	// Each alternative below a property counts once for each of the two levels.
	withBranches := func(n int) []byte {
		return withSchema(`{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"minProperties":0},`, n), ",") + `]}`)
	}
	v := schema.NewValidator()
	for _, tc := range []struct {
		branches int
		checked  bool
	}{
		{schema.MaxValidationCost/2 - 1, true},
		{schema.MaxValidationCost / 2, true},
		{schema.MaxValidationCost/2 + 1, false},
	} {
		if why := v.Unchecked(withBranches(tc.branches)); (why == "") != tc.checked {
			t.Errorf("%d alternatives in two levels: %q", tc.branches, why)
		}
	}
}

func TestSchemaHostile(t *testing.T) {
	var doubling strings.Builder
	for i := range 24 {
		fmt.Fprintf(&doubling, `"a%d":{"anyOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	chain := strings.Repeat(`{"allOf":[`, 30) + `{"type":"string"}` + strings.Repeat(`]}`, 30)
	long := strings.Repeat("n", 60_000)
	for _, tc := range []struct{ name, schema, arguments string }{
		{"doubling references", `{"properties":{"v":{"$ref":"#/$defs/a0"}},"$defs":{` + doubling.String() + `"a24":{"type":"string"}}}`, `{"v":1}`},
		{"doubling levels", `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"properties":{"n":{"$ref":"#/$defs/a"}},"required":["x"]},{"properties":{"n":{"$ref":"#/$defs/a"}},"required":["y"]}]}}}`,
			strings.Repeat(`{"n":`, 60) + `{}` + strings.Repeat(`}`, 60)},
		{"a chain", `{"properties":{"v":` + chain + `}}`, `{"v":1}`},
		{"long values against many alternatives", `{"properties":{"v":{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"type":"number"},`, 900), ",") + `]}}}`, `{"v":"` + strings.Repeat("x", 900_000) + `"}`},
		{"long names", `{"properties":{"` + long + `":{"properties":{` + typescripttest.Numbered(9_000, `"p%d":{}`) + `}}}}`, `{"` + long + `":1}`},
		{"a pattern with many steps", `{"properties":{"v":{"pattern":"^(a+)+$","type":"string"}}}`, `{"v":"` + strings.Repeat("a", 50_000) + `!"}`},
		{"huge repetitions", `{"properties":{"v":{"pattern":"` + strings.Repeat(`a{1000}`, 100) + `","type":"string"}}}`, `{"v":"a"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := schema.NewValidator()
			begin := typescripttest.CPUTime(t)
			_ = v.Check(withSchema(tc.schema), []byte(tc.arguments))
			// The limit is far above what is needed and far below what the
			// schema would take without bounds.
			if took := typescripttest.CPUTime(t) - begin; took > 3*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestCompiledSchemasAreKeptWithinBounds(t *testing.T) {
	v := schema.NewValidator()
	v.LimitCompiled(10 * 1024)
	for i := range 50 {
		if err := v.Check(withSchema(fmt.Sprintf(`{"required":["a%d"]}`, i)), []byte(`{}`)); err == nil {
			t.Fatal("accepted")
		}
	}
	if n := v.Kept(); n == 0 || n > 10 {
		t.Errorf("%d definitions are kept", n)
	}
	one := withSchema(`{"required":["a"]}`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 50 {
				if err := v.Check(one, []byte(`{}`)); err == nil {
					t.Error("accepted")
				}
				_ = v.Check(withSchema(fmt.Sprintf(`{"required":["b%d"]}`, i)), []byte(`{"a":1}`))
			}
		})
	}
	all.Wait()
}

func BenchmarkValidate(b *testing.B) {
	v := schema.NewValidator()
	definition := withSchema(`{"type":"object","properties":{"owner":{"type":"string"},"repo":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}}},"required":["owner","repo"],"additionalProperties":false}`)
	arguments := []byte(`{"owner":"a","repo":"b","labels":["x","y"]}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := v.Check(definition, arguments); err != nil {
			b.Fatal(err)
		}
	}
}
