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

func TestMismatchMessages(t *testing.T) {
	const issue = `{"type":"object","properties":{"repo":{"type":"string"},"page":{"type":"integer","minimum":1},"state":{"enum":["open","closed"]},
		"labels":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}}},"required":["repo"],"additionalProperties":false}`
	v := schema.NewValidator()
	for _, tc := range []struct{ name, schema, arguments, want string }{
		{"valid", issue, `{"repo":"a"}`, ""},
		{"name with a suffix", issue, `{"repoName":"a"}`, "unknown 'repoName', did you mean 'repo'?"},
		{"misspelled name", issue, `{"repo":"a","stat":"open"}`, "unknown 'stat', did you mean 'state'?"},
		{"other name style", `{"properties":{"perPage":{}},"additionalProperties":false}`, `{"per_page":1}`, "unknown 'per_page', did you mean 'perPage'?"},
		{"other name style with open names", `{"properties":{"repo":{}},"required":["repo"]}`, `{"repository":1}`, "unknown 'repository', did you mean 'repo'?"},
		{"unrelated name", issue, `{"repo":"a","xyzzy":1}`, "unknown 'xyzzy'; known are 'repo', 'page', 'state', 'labels'"},
		{"no known names", `{"type":"object","additionalProperties":false}`, `{"a":1}`, "unknown 'a'; it takes none"},
		{"missing", issue, `{"page":1}`, "'repo' is missing"},
		{"type", issue, `{"repo":7}`, "repo: expected string, got the number 7"},
		{"fraction", issue, `{"repo":"a","page":1.5}`, "page: expected integer, got the number 1.5"},
		{"bound", issue, `{"repo":"a","page":0}`, "page: must be at least 1"},
		{"enumeration", issue, `{"repo":"a","state":"opened"}`, `state: must be one of "open" | "closed"; did you mean 'open'?`},
		{"inside", issue, `{"repo":"a","labels":[{"name":"b"},{"names":"c"}]}`, "labels[1]: unknown 'names', did you mean 'name'?"},
		{"nested type", issue, `{"repo":"a","labels":[{"name":null}]}`, "labels[0].name: expected string, got null"},
		{"draft-04", `{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x/y","properties":{"n":{"minimum":0,"exclusiveMinimum":true}}}`, `{"n":0}`, "arguments don't match the tool's inputSchema"},
		{"draft-04 items", `{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x/y","properties":{"n":{"minimum":0,"exclusiveMinimum":true}}}`, `{"n":0.5}`, ""},
		{"draft-07 tuple", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"t":{"items":[{"type":"string"}],"additionalItems":false}}}`, `{"t":["a",1]}`, "t[1]: nothing is allowed here"},
		{"draft-07 ignores keywords next to $ref", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"t":{"$ref":"#/definitions/a","type":"number"}},"definitions":{"a":{"type":"string"}}}`, `{"t":"a"}`, ""},
		{"2020-12 evaluates keywords next to $ref", `{"properties":{"t":{"$ref":"#/definitions/a","minLength":2}},"definitions":{"a":{"type":"string"}},"$defs":{}}`, `{"t":"a"}`, "t: must have at least 2 characters"},
		{"nullable", `{"properties":{"a":{"type":"string","nullable":true}}}`, `{"a":null}`, ""},
		{"recursive", `{"properties":{"v":{"type":"number"},"next":{"$ref":"#"}}}`, `{"next":{"next":{"v":"x"}}}`, "next.next.v: expected number, got string"},
		{"alternatives", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"object","required":["id"]}]}}}`, `{"a":{}}`, "a: 'id' is missing"},
		{"no matching alternative", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":1}`, "a: expected string or null, got the number 1"},
		{"pattern", `{"properties":{"a":{"type":"string","pattern":"^[a-z]+$"}}}`, `{"a":"A"}`, "a: must match the pattern ^[a-z]+$"},
		{"unsupported pattern omitted", `{"properties":{"a":{"type":"string","pattern":"^(?=x)"}}}`, `{"a":"A"}`, ""},
		{"multipleOf with a fraction", `{"properties":{"a":{"multipleOf":0.01}}}`, `{"a":0.29}`, ""},
		{"negation of an unsupported part", `{"properties":{"a":{"not":{"pattern":"^(?=x)"}}}}`, `{"a":"y"}`, ""},
		{"partly unsupported alternatives", `{"properties":{"a":{"oneOf":[{"pattern":"^(?=x)"},{"pattern":"^y"}]}}}`, `{"a":"y"}`, ""},
		{"unsupported condition", `{"if":{"properties":{"a":{"multipleOf":0.5}}},"then":{"required":["b"]}}`, `{"a":0.3}`, ""},
		{"supported condition", `{"if":{"properties":{"a":{"const":1}},"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, "arguments don't match the tool's inputSchema"},
		{"dynamic references", `{"properties":{"a":{"$dynamicRef":"#x"},"b":{"type":"string"}}}`, `{"a":1,"b":2}`, "b: expected string, got the number 2"},
		{"not an object", issue, `[1]`, "arguments must be a single JSON object"},
		{"unusual names", `{"properties":{"a b":{"properties":{"c":{"type":"string"}}}}}`, `{"a b":{"c":1}}`, "['a b'].c: expected string, got the number 1"},
		{"hostile names", `{"properties":{},"additionalProperties":false}`, "{\"a\u202e\\nb\":1}", "unknown 'a b'; it takes none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if why := v.UncheckedReason(withSchema(tc.schema)); why != "" {
				t.Fatalf("not validated: %s", why)
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

func TestUncheckedReasons(t *testing.T) {
	many := strings.Repeat(`{"minimum":1},`, 5_000)
	v := schema.NewValidator()
	for _, tc := range []struct{ name, definition, want string }{
		{"another document", `{"inputSchema":{"properties":{"a":{"$ref":"https://example.com/s.json"}}}}`, "which it doesn't contain"},
		{"nowhere", `{"inputSchema":{"properties":{"a":{"$ref":"#/$defs/none"}}}}`, "which it doesn't contain"},
		{"cycle", `{"inputSchema":{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}}}}`, "refers only to itself"},
		{"nested identifiers", `{"inputSchema":{"properties":{"a":{"$id":"x.json"}}}}`, "their own identifiers"},
		{"too many alternatives", `{"inputSchema":{"properties":{"a":{"anyOf":[` + many + `{}]}}}}`, "too many to check"},
		{"null", `{"inputSchema":{"properties":{"a":null}}}`, "not a valid schema"},
		{"unknown type", `{"inputSchema":{"type":"object","properties":{"a":{"type":"text"}},"$defs":{"a":1,"b":{"$ref":"#/$defs/a"}},"anyOf":[{"$ref":"#/$defs/a"}]}}`, "which it doesn't contain"},
		{"no inputSchema", `{"name":"x"}`, "no inputSchema"},
		{"not JSON", `{`, "unexpected EOF"},
		{"too large", `{"inputSchema":{"description":"` + strings.Repeat("x", schema.MaxBytes) + `"}}`, "too large"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if why := v.UncheckedReason([]byte(tc.definition)); !strings.Contains(why, tc.want) {
				t.Errorf("Unchecked() = %q, want %q", why, tc.want)
			}
			if err := v.Check([]byte(tc.definition), []byte(`{"a":1}`)); err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

func TestValidationCostLimit(t *testing.T) {
	// Each alternative below a property counts once per level.
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
		if why := v.UncheckedReason(withBranches(tc.branches)); (why == "") != tc.checked {
			t.Errorf("%d alternatives in two levels: %q", tc.branches, why)
		}
	}
}

func TestHostileSchemas(t *testing.T) {
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
		{"reference chain", `{"properties":{"v":` + chain + `}}`, `{"v":1}`},
		{"long values with many alternatives", `{"properties":{"v":{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"type":"number"},`, 900), ",") + `]}}}`, `{"v":"` + strings.Repeat("x", 900_000) + `"}`},
		{"long names", `{"properties":{"` + long + `":{"properties":{` + typescripttest.Numbered(9_000, `"p%d":{}`) + `}}}}`, `{"` + long + `":1}`},
		{"pattern with many steps", `{"properties":{"v":{"pattern":"^(a+)+$","type":"string"}}}`, `{"v":"` + strings.Repeat("a", 50_000) + `!"}`},
		{"huge repetitions", `{"properties":{"v":{"pattern":"` + strings.Repeat(`a{1000}`, 100) + `","type":"string"}}}`, `{"v":"a"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := schema.NewValidator()
			begin := typescripttest.CPUTime(t)
			_ = v.Check(withSchema(tc.schema), []byte(tc.arguments))
			// The limit is far above the normal time and far below that of an
			// unlimited validation.
			if took := typescripttest.CPUTime(t) - begin; took > 3*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestCompiledSchemaCacheLimit(t *testing.T) {
	v := schema.NewValidator()
	v.LimitCompiled(10 * 1024)
	for i := range 50 {
		if err := v.Check(withSchema(fmt.Sprintf(`{"required":["a%d"]}`, i)), []byte(`{}`)); err == nil {
			t.Fatal("accepted")
		}
	}
	if n := v.Kept(); n == 0 || n > 10 {
		t.Errorf("%d cached definitions", n)
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
